/* The CUDA runtime for extensions that were built with it, on a machine without CUDA: every function reports
 * that there is no device. Loaded only for an extension that names it. */
#include <stddef.h>

enum { kSuccess = 0, kNoDevice = 100 };
#define EXPORTED __attribute__((visibility("default")))
#define NO_DEVICE(name)    \
  EXPORTED int name(void); \
  int name(void) { return kNoDevice; }

/* ---- what a program registers when it is loaded ---- */
static void* g_handle;
EXPORTED void** __cudaRegisterFatBinary(void* binary);
void** __cudaRegisterFatBinary(void* binary) {
  g_handle = binary;
  return &g_handle;
}
#define NOTHING(name)       \
  EXPORTED void name(void); \
  void name(void) {}
NOTHING(__cudaRegisterFatBinaryEnd)
NOTHING(__cudaUnregisterFatBinary)
NOTHING(__cudaRegisterFunction)
NOTHING(__cudaRegisterVar)
NOTHING(__cudaRegisterManagedVar)
NOTHING(__cudaRegisterTexture)
NOTHING(__cudaRegisterSurface)
EXPORTED char __cudaInitModule(void** handle);
char __cudaInitModule(void** handle) {
  (void)handle;
  return 0;
}
NO_DEVICE(__cudaPushCallConfiguration)
NO_DEVICE(__cudaPopCallConfiguration)
NO_DEVICE(__cudaLaunchKernel)
NO_DEVICE(__cudaLaunchKernel_ptsz)
NO_DEVICE(__cudaGetKernel)

/* ---- what programs ask ---- */
EXPORTED const char* cudaGetErrorString(int error);
const char* cudaGetErrorString(int error) {
  return error == kSuccess ? "no error" : "no CUDA-capable device is detected (tl has no CUDA device)";
}
EXPORTED const char* cudaGetErrorName(int error);
const char* cudaGetErrorName(int error) { return error == kSuccess ? "cudaSuccess" : "cudaErrorNoDevice"; }
EXPORTED int cudaGetDeviceCount(int* count);
int cudaGetDeviceCount(int* count) {
  if (count) *count = 0;
  return kNoDevice;
}
EXPORTED int cudaDriverGetVersion(int* version);
int cudaDriverGetVersion(int* version) {
  if (version) *version = 0;
  return kSuccess;
}
EXPORTED int cudaRuntimeGetVersion(int* version);
int cudaRuntimeGetVersion(int* version) {
  if (version) *version = TL_CUDA_VERSION;
  return kSuccess;
}
NO_DEVICE(cudaGetLastError)
NO_DEVICE(cudaPeekAtLastError)

/* ---- the rest ---- */
NO_DEVICE(cudaChooseDevice)
NO_DEVICE(cudaDeviceCanAccessPeer)
NO_DEVICE(cudaDeviceDisablePeerAccess)
NO_DEVICE(cudaDeviceEnablePeerAccess)
NO_DEVICE(cudaDeviceGetAttribute)
NO_DEVICE(cudaDeviceGetByPCIBusId)
NO_DEVICE(cudaDeviceGetDefaultMemPool)
NO_DEVICE(cudaDeviceGetLimit)
NO_DEVICE(cudaDeviceGetMemPool)
NO_DEVICE(cudaDeviceGetP2PAttribute)
NO_DEVICE(cudaDeviceGetPCIBusId)
NO_DEVICE(cudaDeviceGetStreamPriorityRange)
NO_DEVICE(cudaDeviceReset)
NO_DEVICE(cudaDeviceSetCacheConfig)
NO_DEVICE(cudaDeviceSetLimit)
NO_DEVICE(cudaDeviceSetMemPool)
NO_DEVICE(cudaDeviceSynchronize)
NO_DEVICE(cudaEventCreate)
NO_DEVICE(cudaEventCreateWithFlags)
NO_DEVICE(cudaEventDestroy)
NO_DEVICE(cudaEventElapsedTime)
NO_DEVICE(cudaEventQuery)
NO_DEVICE(cudaEventRecord)
NO_DEVICE(cudaEventRecordWithFlags)
NO_DEVICE(cudaEventSynchronize)
NO_DEVICE(cudaFree)
NO_DEVICE(cudaFreeArray)
NO_DEVICE(cudaFreeAsync)
NO_DEVICE(cudaFreeHost)
NO_DEVICE(cudaFuncGetAttributes)
NO_DEVICE(cudaFuncSetAttribute)
NO_DEVICE(cudaFuncSetCacheConfig)
NO_DEVICE(cudaGetDevice)
NO_DEVICE(cudaGetDeviceFlags)
NO_DEVICE(cudaGetDeviceProperties)
NO_DEVICE(cudaGetDeviceProperties_v2)
NO_DEVICE(cudaGetDriverEntryPoint)
NO_DEVICE(cudaGetDriverEntryPointByVersion)
NO_DEVICE(cudaGetFuncBySymbol)
NO_DEVICE(cudaGetSymbolAddress)
NO_DEVICE(cudaGetSymbolSize)
NO_DEVICE(cudaGraphAddKernelNode)
NO_DEVICE(cudaGraphAddMemcpyNode)
NO_DEVICE(cudaGraphCreate)
NO_DEVICE(cudaGraphDestroy)
NO_DEVICE(cudaGraphExecDestroy)
NO_DEVICE(cudaGraphInstantiate)
NO_DEVICE(cudaGraphLaunch)
NO_DEVICE(cudaHostAlloc)
NO_DEVICE(cudaHostGetDevicePointer)
NO_DEVICE(cudaHostRegister)
NO_DEVICE(cudaHostUnregister)
NO_DEVICE(cudaIpcCloseMemHandle)
NO_DEVICE(cudaIpcGetMemHandle)
NO_DEVICE(cudaIpcOpenMemHandle)
NO_DEVICE(cudaLaunchCooperativeKernel)
NO_DEVICE(cudaLaunchHostFunc)
NO_DEVICE(cudaLaunchKernel)
NO_DEVICE(cudaLaunchKernelExC)
NO_DEVICE(cudaMalloc)
NO_DEVICE(cudaMalloc3D)
NO_DEVICE(cudaMallocArray)
NO_DEVICE(cudaMallocAsync)
NO_DEVICE(cudaMallocFromPoolAsync)
NO_DEVICE(cudaMallocHost)
NO_DEVICE(cudaMallocManaged)
NO_DEVICE(cudaMallocPitch)
NO_DEVICE(cudaMemAdvise)
NO_DEVICE(cudaMemGetInfo)
NO_DEVICE(cudaMemPoolGetAttribute)
NO_DEVICE(cudaMemPoolSetAttribute)
NO_DEVICE(cudaMemPrefetchAsync)
NO_DEVICE(cudaMemcpy)
NO_DEVICE(cudaMemcpy2D)
NO_DEVICE(cudaMemcpy2DAsync)
NO_DEVICE(cudaMemcpy3D)
NO_DEVICE(cudaMemcpy3DAsync)
NO_DEVICE(cudaMemcpyAsync)
NO_DEVICE(cudaMemcpyFromSymbol)
NO_DEVICE(cudaMemcpyFromSymbolAsync)
NO_DEVICE(cudaMemcpyPeer)
NO_DEVICE(cudaMemcpyPeerAsync)
NO_DEVICE(cudaMemcpyToSymbol)
NO_DEVICE(cudaMemcpyToSymbolAsync)
NO_DEVICE(cudaMemset)
NO_DEVICE(cudaMemset2D)
NO_DEVICE(cudaMemset2DAsync)
NO_DEVICE(cudaMemsetAsync)
NO_DEVICE(cudaOccupancyAvailableDynamicSMemPerBlock)
NO_DEVICE(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
NO_DEVICE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
NO_DEVICE(cudaOccupancyMaxActiveClusters)
NO_DEVICE(cudaPointerGetAttributes)
NO_DEVICE(cudaProfilerStart)
NO_DEVICE(cudaProfilerStop)
NO_DEVICE(cudaSetDevice)
NO_DEVICE(cudaSetDeviceFlags)
NO_DEVICE(cudaStreamAddCallback)
NO_DEVICE(cudaStreamAttachMemAsync)
NO_DEVICE(cudaStreamBeginCapture)
NO_DEVICE(cudaStreamCreate)
NO_DEVICE(cudaStreamCreateWithFlags)
NO_DEVICE(cudaStreamCreateWithPriority)
NO_DEVICE(cudaStreamDestroy)
NO_DEVICE(cudaStreamEndCapture)
NO_DEVICE(cudaStreamGetCaptureInfo)
NO_DEVICE(cudaStreamGetCaptureInfo_v2)
NO_DEVICE(cudaStreamGetFlags)
NO_DEVICE(cudaStreamGetPriority)
NO_DEVICE(cudaStreamIsCapturing)
NO_DEVICE(cudaStreamQuery)
NO_DEVICE(cudaStreamSynchronize)
NO_DEVICE(cudaStreamUpdateCaptureDependencies)
NO_DEVICE(cudaStreamWaitEvent)
NO_DEVICE(cudaThreadExchangeStreamCaptureMode)

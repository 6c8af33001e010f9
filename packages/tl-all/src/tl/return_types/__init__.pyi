# Written by `python -m tools.facade_stubs --write`.
from tl_core._C import _result_aminmax as _aminmax_
from tl_core._C import _result_cummax as _cummax_
from tl_core._C import _result_cummin as _cummin_
from tl_core._C import _result_frexp as _frexp_
from tl_core._C import _result_geqrf as _geqrf_
from tl_core._C import _result_histogram as _histogram_
from tl_core._C import _result_kthvalue as _kthvalue_
from tl_core._C import _result_linalg_cholesky_ex as _linalg_cholesky_ex_
from tl_core._C import _result_linalg_eig as _linalg_eig_
from tl_core._C import _result_linalg_eigh as _linalg_eigh_
from tl_core._C import _result_linalg_inv_ex as _linalg_inv_ex_
from tl_core._C import _result_linalg_ldl_factor as _linalg_ldl_factor_
from tl_core._C import _result_linalg_ldl_factor_ex as _linalg_ldl_factor_ex_
from tl_core._C import _result_linalg_lstsq as _linalg_lstsq_
from tl_core._C import _result_linalg_lu as _linalg_lu_
from tl_core._C import _result_linalg_lu_factor as _linalg_lu_factor_
from tl_core._C import _result_linalg_lu_factor_ex as _linalg_lu_factor_ex_
from tl_core._C import _result_linalg_qr as _linalg_qr_
from tl_core._C import _result_linalg_slogdet as _linalg_slogdet_
from tl_core._C import _result_linalg_solve_ex as _linalg_solve_ex_
from tl_core._C import _result_linalg_svd as _linalg_svd_
from tl_core._C import _result_lu_unpack as _lu_unpack_
from tl_core._C import _result_max as _max_
from tl_core._C import _result_median as _median_
from tl_core._C import _result_min as _min_
from tl_core._C import _result_mode as _mode_
from tl_core._C import _result_nanmedian as _nanmedian_
from tl_core._C import _result_qr as _qr_
from tl_core._C import _result_slogdet as _slogdet_
from tl_core._C import _result_sort as _sort_
from tl_core._C import _result_svd as _svd_
from tl_core._C import _result_topk as _topk_
from tl_core._C import _result_triangular_solve as _triangular_solve_

aminmax = _aminmax_
cummax = _cummax_
cummin = _cummin_
frexp = _frexp_
geqrf = _geqrf_
histogram = _histogram_
kthvalue = _kthvalue_
linalg_cholesky_ex = _linalg_cholesky_ex_
linalg_eig = _linalg_eig_
linalg_eigh = _linalg_eigh_
linalg_inv_ex = _linalg_inv_ex_
linalg_ldl_factor = _linalg_ldl_factor_
linalg_ldl_factor_ex = _linalg_ldl_factor_ex_
linalg_lstsq = _linalg_lstsq_
linalg_lu = _linalg_lu_
linalg_lu_factor = _linalg_lu_factor_
linalg_lu_factor_ex = _linalg_lu_factor_ex_
linalg_qr = _linalg_qr_
linalg_slogdet = _linalg_slogdet_
linalg_solve_ex = _linalg_solve_ex_
linalg_svd = _linalg_svd_
lu_unpack = _lu_unpack_
max = _max_
median = _median_
min = _min_
mode = _mode_
nanmedian = _nanmedian_
qr = _qr_
slogdet = _slogdet_
sort = _sort_
svd = _svd_
topk = _topk_
triangular_solve = _triangular_solve_

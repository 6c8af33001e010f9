"""torch-geometric, its paths in pure Python: graph convolutions, attention, batches and pooling."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, to_dense_adj


def main():
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 1, 2, 3, 3, 4], [1, 0, 2, 1, 4, 0, 2]])
    graph = Data(x=torch.randn(5, 8), edge_index=edges)
    batch = Batch.from_data_list([graph, Data(x=torch.randn(3, 8), edge_index=edges[:, :3])])
    layers = {"gcn": GCNConv(8, 6), "gat": GATConv(8, 3, heads=2), "sage": SAGEConv(8, 6)}
    layers["gin"] = GINConv(torch.nn.Linear(8, 6))
    outputs = {name: layer(batch.x, batch.edge_index) for name, layer in layers.items()}
    pooled = global_mean_pool(outputs["gcn"], batch.batch)
    pooled.sum().backward()
    loops, _ = add_self_loops(edges)
    return {
        "outputs": outputs,
        "pooled": pooled,
        "gradient": layers["gcn"].lin.weight.grad,
        "degree": degree(loops[0]),
        "dense": to_dense_adj(edges),
    }

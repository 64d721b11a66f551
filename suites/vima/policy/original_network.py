"""The network of the original VIMA checkpoints (2M to 200M): written here, its tensors named as in their files.

Objects of two views and words are prompt tokens, which a T5 encoder reads; past objects and actions are a sequence that
attends to them layer by layer. Sizes that a checkpoint does not state are read off its tensors. Compared with
github.com/vimalabs/VIMA at 8449837.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

VIEWS = ("front", "top")
CROP_PX = 32
POSITION_BINS, ROTATION_BINS = (50, 100), 50
MEAN, DEVIATION = (0.3471, 0.3429, 0.3383), (0.3011, 0.2961, 0.2956)
BOX_SCALE = (256.0, 128.0, 128.0, 256.0)  # of centre x, centre y, height, width
MOST_STEPS, MOST_PROMPT = 512, 256
ACTION_BINS: Mapping[str, tuple[int, ...]] = {
    "pose0_position": POSITION_BINS,
    "pose0_rotation": (ROTATION_BINS,) * 4,
    "pose1_position": POSITION_BINS,
    "pose1_rotation": (ROTATION_BINS,) * 4,
}


def mlp(size: int, hidden: int, out: int, depth: int) -> nn.Sequential:
    """Layers with an empty place after each, where the checkpoints' numbering has a norm that is not used."""
    layers: list[nn.Module] = [nn.Linear(size, hidden), nn.Identity(), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(hidden, hidden), nn.Identity(), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(hidden, out))


class QuickGelu(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class VisionBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads)
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(width, 4 * width))
        self.mlp.add_module("gelu", QuickGelu())
        self.mlp.add_module("c_proj", nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        seen = self.ln_1(x)
        x = x + self.attn(seen, seen, seen, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))  # type: ignore[no-any-return]


class Vision(nn.Module):
    """A crop of 32 pixels as one vector."""

    def __init__(self, width: int, out: int, layers: int, heads: int, patch: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, patch, patch, bias=False)
        self.cls_token = nn.Parameter(torch.zeros(width))
        self.pos_embed = nn.Parameter(torch.zeros((CROP_PX // patch) ** 2 + 1, width))
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(VisionBlock(width, heads) for _ in range(layers)))
        self.projection = nn.Parameter(torch.zeros(width, out))

    def forward(self, crops: Tensor) -> Tensor:
        patches = self.conv1(crops).flatten(2).permute(0, 2, 1)
        tokens = torch.cat([self.cls_token.repeat(len(crops), 1, 1), patches], dim=1) + self.pos_embed
        tokens = self.blocks(self.ln_pre(tokens).permute(1, 0, 2))
        return self.ln_post(tokens[0]) @ self.projection  # type: ignore[no-any-return]


class Pictures(nn.Module):
    """Under the name that the checkpoints have for it."""

    def __init__(self, vit: Vision) -> None:
        super().__init__()
        self.vit = vit

    def forward(self, crops: Tensor) -> Tensor:
        """Bytes (..., 3, 32, 32) to vectors."""
        mean, deviation = (crops.new_tensor(numbers, dtype=torch.float32) for numbers in (MEAN, DEVIATION))
        pictures = (crops.float() / 255.0 - mean[:, None, None]) / deviation[:, None, None]
        found = self.vit(pictures.flatten(0, -4))
        return found.view(*crops.shape[:-3], -1)  # type: ignore[no-any-return]


class Objects(nn.Module):
    """Crops and boxes of all views as tokens, those of one view after those of the other."""

    def __init__(self, size: int, vision: int, box: int, vit: Vision) -> None:
        super().__init__()
        self.cropped_img_encoder = Pictures(vit)
        self.bbox_mlp = nn.ModuleDict({view: mlp(4, box, box, 2) for view in VIEWS})
        self.pre_transformer_layer = nn.ModuleDict({view: nn.Linear(vision + box, size) for view in VIEWS})

    def forward(self, crops: Mapping[str, Tensor], boxes: Mapping[str, Tensor]) -> Tensor:
        tokens = []
        for view in VIEWS:
            places = boxes[view].float()
            places = self.bbox_mlp[view](places / places.new_tensor(BOX_SCALE))
            both = torch.cat([self.cropped_img_encoder(crops[view]), places], dim=-1)
            tokens.append(self.pre_transformer_layer[view](both))
        return torch.cat(tokens, dim=-2)


class Affine(nn.Module):
    """A linear layer whose weight stands the other way round."""

    def __init__(self, size: int, out: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.zeros(size, out)), nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        rows = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return rows.view(*x.shape[:-1], -1)


class SelfAttention(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = Affine(size, 3 * size), Affine(size, size)
        earlier = torch.tril(torch.ones(MOST_STEPS, MOST_STEPS))
        self.register_buffer("bias", earlier.view(1, 1, MOST_STEPS, MOST_STEPS))

    def forward(self, x: Tensor, masked: Tensor) -> Tensor:
        rows, steps, size = x.shape
        query, key, value = (
            part.view(rows, steps, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(size, dim=2)
        )
        weights = query @ key.transpose(2, 3) / math.sqrt(value.shape[-1])
        earlier = self.bias[:, :, :steps, :steps]  # type: ignore[index]
        weights = (weights * earlier - 1e4 * (1 - earlier) + masked).softmax(-1)
        return self.c_proj((weights @ value).transpose(1, 2).reshape(rows, steps, size))  # type: ignore[no-any-return]


class Gated(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.c_fc, self.c_proj = Affine(size, 4 * size), Affine(4 * size, size)
        self.gated_layer = nn.Linear(size, 4 * size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(nn.functional.gelu(self.c_fc(x)) * self.gated_layer(x))  # type: ignore[no-any-return]


class Block(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attn, self.mlp = SelfAttention(size, heads), Gated(size)
        self.ln_1, self.ln_2 = nn.LayerNorm(size), nn.LayerNorm(size)

    def forward(self, x: Tensor, masked: Tensor) -> Tensor:
        x = self.ln_1(x + self.attn(x, masked))
        return self.ln_2(x + self.mlp(x))  # type: ignore[no-any-return]


class CrossAttention(nn.Module):
    """What the prompt says, added to the sequence."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.layernorm, self.ln = nn.LayerNorm(size), nn.LayerNorm(size)
        self.query, self.attention_out = nn.Linear(size, size, bias=False), nn.Linear(size, size, bias=False)
        self.key_value = nn.Linear(size, 2 * size, bias=False)
        self.linear1, self.linear2 = nn.Linear(size, 4 * size, bias=False), nn.Linear(4 * size, size, bias=False)
        self.gated_layer = nn.Linear(size, 4 * size, bias=False)
        self.register_buffer("kv_position_ids", torch.arange(MOST_PROMPT))

    def forward(self, x: Tensor, prompt: Tensor, masked: Tensor) -> Tensor:
        def by_head(part: Tensor) -> Tensor:
            return part.view(len(part), part.shape[1], self.heads, -1).transpose(1, 2)

        query = by_head(self.query(self.layernorm(x)))
        key, value = map(by_head, self.key_value(prompt).chunk(2, dim=-1))
        weights = (query @ key.transpose(2, 3) / math.sqrt(query.shape[-1]) + masked).softmax(-1)
        x = x + self.attention_out((weights @ value).transpose(1, 2).reshape(x.shape))
        return x + self.linear2(nn.functional.gelu(self.linear1(self.ln(x))) * self.gated_layer(x))  # type: ignore[no-any-return]


class History(nn.Module):
    """The layers over past objects and actions."""

    def __init__(self, size: int, layers: int, heads: int, cross_heads: int) -> None:
        super().__init__()
        self.positions_embed = nn.Embedding(MOST_STEPS, size)
        self.xattn_positions_embed = nn.Embedding(MOST_PROMPT, size)
        self.h = nn.ModuleList(Block(size, heads) for _ in range(layers))
        self.xattns = nn.ModuleList(CrossAttention(size, cross_heads) for _ in range(layers))
        self.register_buffer("position_ids", torch.arange(MOST_STEPS))
        self.register_buffer("xattn_position_ids", torch.arange(MOST_PROMPT))

    def forward(self, tokens: Tensor, there: Tensor, prompt: Tensor, prompt_there: Tensor) -> Tensor:
        tokens = tokens + self.positions_embed(_places(there))
        prompt = prompt + self.xattn_positions_embed(_places(prompt_there))
        masked = _masked(there, torch.finfo(tokens.dtype).min)
        prompt_masked = _masked(prompt_there, torch.finfo(tokens.dtype).min)
        for own, cross in zip(self.h, self.xattns, strict=True):
            tokens = own(cross(tokens, prompt, prompt_masked), masked)
        return tokens


class Actions(nn.Module):
    """An action that was taken, as a token."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        parts = {name: nn.Module() for name in ACTION_BINS}
        for name, part in parts.items():
            part.add_module("_layer", mlp(len(ACTION_BINS[name]), hidden, hidden, 1))
        self._embed_dict = nn.ModuleDict(parts)
        whole = hidden * len(parts)
        self._post_layer = nn.Identity() if whole == size else nn.Linear(whole, size)

    def forward(self, action: Mapping[str, Tensor]) -> Tensor:
        parts = [self._embed_dict[name]._layer(action[name]) for name in sorted(action)]  # type: ignore[operator]
        return self._post_layer(torch.cat(parts, dim=-1))  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """The bin of each number of an action."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self._decoders = nn.ModuleDict()
        for name, bins in ACTION_BINS.items():
            one = nn.Module()
            one.add_module("mlps", nn.ModuleList(mlp(size, hidden, count, 2) for count in bins))
            self._decoders[name] = one

    def forward(self, token: Tensor) -> dict[str, Tensor]:
        return {
            name: torch.stack([net(token).argmax(-1) for net in self._decoders[name].mlps], dim=-1)  # type: ignore[union-attr]
            for name in ACTION_BINS
        }


class VimaNetwork(nn.Module):
    """The whole of it. `config` is that of a checkpoint, `shapes` those of its tensors."""

    def __init__(self, config: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> None:
        from transformers import T5Config, T5EncoderModel

        super().__init__()
        size = int(config["embed_dim"])
        layers, heads, cross = (int(config[name]) for name in ("xf_n_layers", "sattn_n_heads", "xattn_n_heads"))
        vit = "obj_encoder.cropped_img_encoder.vit."
        width, vision = shapes[f"{vit}projection"]
        box = shapes["obj_encoder.bbox_mlp.top.0.weight"][0]
        words, width_t5 = shapes["t5_prompt_encoder.t5.shared.weight"]
        heads_t5 = shapes[f"{T5_BLOCK}0.layer.0.SelfAttention.relative_attention_bias.weight"][1]
        self.xattn_gpt = History(size, layers, heads, cross)
        patch = shapes[f"{vit}conv1.weight"][-1]
        self.obj_encoder = Objects(
            size, vision, box, Vision(width, vision, _count(shapes, f"{vit}blocks."), max(width // 32, 1), patch)
        )
        self.end_effector_encoder = nn.Embedding(2, 2)
        self.obs_fusion_layer = nn.Linear(size + 2, size)
        self.action_encoder = Actions(size, shapes["action_encoder._embed_dict.pose0_position._layer.0.weight"][0])
        self.action_decoder = Decoder(size, shapes["action_decoder._decoders.pose0_position.mlps.0.0.weight"][0])
        self.prompt_embedding = nn.Module()
        self.prompt_embedding.add_module("_embed_layer", nn.Embedding(words, width_t5))
        self.t5_prompt_encoder = nn.Module()
        t5 = T5Config(
            vocab_size=words,
            d_model=width_t5,
            d_kv=shapes[f"{T5_BLOCK}0.layer.0.SelfAttention.q.weight"][0] // heads_t5,
            d_ff=shapes[f"{T5_BLOCK}0.layer.1.DenseReluDense.wi.weight"][0],
            num_layers=_count(shapes, T5_BLOCK),
            num_heads=heads_t5,
            dropout_rate=0.0,
        )
        self.t5_prompt_encoder.add_module("t5", T5EncoderModel(t5))
        self.t5_prompt_encoder_post_layer = nn.Identity() if size == width_t5 else nn.Linear(width_t5, size, bias=False)
        hidden = shapes["prompt_obj_post_layer.0.weight"][0]
        self.prompt_obj_post_layer = mlp(size, hidden, width_t5, 2)

    def words(self, numbers: Tensor) -> Tensor:
        return self.prompt_embedding._embed_layer(numbers)  # type: ignore[operator, no-any-return]

    def shown(self, crops: Mapping[str, Tensor], boxes: Mapping[str, Tensor]) -> Tensor:
        """Objects in a prompt as the T5 encoder reads them."""
        return self.prompt_obj_post_layer(self.obj_encoder(crops, boxes))  # type: ignore[no-any-return]

    def read(self, tokens: Tensor, there: Tensor) -> Tensor:
        """A prompt, (1, tokens, numbers), understood."""
        read = self.t5_prompt_encoder.t5(inputs_embeds=tokens, attention_mask=there.float())  # type: ignore[operator]
        return self.t5_prompt_encoder_post_layer(read.last_hidden_state)  # type: ignore[no-any-return]

    def see(self, crops: Mapping[str, Tensor], boxes: Mapping[str, Tensor], tool: int) -> Tensor:
        """The objects of one moment as tokens."""
        tokens = self.obj_encoder(crops, boxes)
        held = self.end_effector_encoder(torch.tensor(tool, device=tokens.device)).expand(*tokens.shape[:-1], 2)
        return self.obs_fusion_layer(torch.cat([tokens, held], dim=-1))  # type: ignore[no-any-return]


T5_BLOCK = "t5_prompt_encoder.t5.encoder.block."


def _count(shapes: Mapping[str, Any], prefix: str) -> int:
    """How many layers there are under a name."""
    return len({name.removeprefix(prefix).partition(".")[0] for name in shapes if name.startswith(prefix)})


def _places(there: Tensor) -> Tensor:
    return (there.long().cumsum(1) - 1).clamp(min=0)


def _masked(there: Tensor, low: float) -> Tensor:
    return (1.0 - there[:, None, None, :].float()) * low

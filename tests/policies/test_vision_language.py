"""Hugging Face folders that answer in words, with tiny random weights."""

from __future__ import annotations

import pytest
from pytest_vla.suites.multinet import suite as make_suite

from pytest_vla.policies import PolicyError, load_policy
from pytest_vla.policies.vision_language import vision_language
from pytest_vla.registry import register
from pytest_vla.rollout import rollout


@pytest.fixture(scope="module")
def folder(tmp_path_factory, torch):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["<pad>", "<bos>", "<eos>", "<unk>", "<image>", *map(chr, range(32, 127))]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
    marks = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>"}
    pictures = transformers.SiglipImageProcessor(size={"height": 28, "width": 28})
    pictures.image_seq_length = 4
    processor = transformers.PaliGemmaProcessor(
        pictures, transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks)
    )
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.PaliGemmaConfig(
        vision_config={
            "model_type": "siglip_vision_model",
            **small,
            "image_size": 28,
            "patch_size": 14,
            "projection_dim": 16,
        },
        text_config={
            "model_type": "gemma",
            "vocab_size": len(processor.tokenizer),
            "num_key_value_heads": 1,
            "head_dim": 8,
            **small,
        },
        projection_dim=16,
        image_token_index=processor.tokenizer.convert_tokens_to_ids("<image>"),
    )
    path = tmp_path_factory.mktemp("paligemma")
    torch.manual_seed(0)
    transformers.PaliGemmaForConditionalGeneration(config).save_pretrained(path)
    processor.save_pretrained(path)
    return path


def test_a_folder_answers_questions_with_and_without_pictures(folder, monkeypatch):
    monkeypatch.setattr("pytest_vla.policies.vision_language.NEW_TOKENS", 4)
    source = load_policy(str(folder))
    assert {"text", "option", "function_call"} <= set(source.spec.outputs)
    suite = register(make_suite())
    for task in ("sqa3d", "piqa"):
        env = suite.make_env(task)
        key = suite.episode(task, "synthetic", 0)
        one, two = (rollout(source.policy, env, key) for _ in range(2))
        assert one.outcome != "error", one.message
        assert one.extra["answer"]["sha"] == two.extra["answer"]["sha"]


def test_a_model_that_does_not_generate_is_refused():
    with pytest.raises(PolicyError, match="has no predict_action"):
        vision_language(object(), object(), "folder")

"""What is known of a model by its Hugging Face `model_type`, which a plan calls its family."""

from __future__ import annotations

from planc.diagnostics.names import slip

#: Class of the repeated layer by Hugging Face `model_type` (transformers 5.23, `_no_split_modules` of the models).
LAYER_CLASSES: dict[str, str] = {
    "bloom": "BloomBlock", "cohere": "CohereDecoderLayer", "cohere2": "Cohere2DecoderLayer", "dbrx": "DbrxBlock",
    "deepseek_v2": "DeepseekV2DecoderLayer", "deepseek_v3": "DeepseekV3DecoderLayer", "falcon": "FalconDecoderLayer",
    "gemma": "GemmaDecoderLayer", "gemma2": "Gemma2DecoderLayer", "gemma3_text": "Gemma3DecoderLayer",
    "glm": "GlmDecoderLayer", "glm4": "Glm4DecoderLayer",
    "gpt2": "GPT2Block", "gpt_bigcode": "GPTBigCodeBlock", "gpt_neox": "GPTNeoXLayer", "gpt_oss": "GptOssDecoderLayer",
    "gptj": "GPTJBlock", "granite": "GraniteDecoderLayer", "llama": "LlamaDecoderLayer",
    "mistral": "MistralDecoderLayer",
    "mixtral": "MixtralDecoderLayer", "mpt": "MptBlock", "olmo": "OlmoDecoderLayer", "olmo2": "Olmo2DecoderLayer",
    "olmoe": "OlmoeDecoderLayer", "opt": "OPTDecoderLayer", "phi": "PhiDecoderLayer", "phi3": "Phi3DecoderLayer",
    "qwen2": "Qwen2DecoderLayer", "qwen2_moe": "Qwen2MoeDecoderLayer", "qwen3": "Qwen3DecoderLayer",
    "qwen3_moe": "Qwen3MoeDecoderLayer", "smollm3": "SmolLM3DecoderLayer", "stablelm": "StableLmDecoderLayer",
    "starcoder2": "Starcoder2DecoderLayer",
}  # fmt: skip

#: Classes of layers that see, which no model of text alone has (transformers 5.23, `vision_config` of the models).
VISION_LAYERS = (
    "CLIPEncoderLayer", "Llama4VisionEncoderLayer", "MllamaVisionEncoderLayer", "PixtralAttentionLayer",
    "Qwen2VLVisionBlock", "Qwen2_5_VLVisionBlock", "Qwen3VLVisionBlock", "Siglip2EncoderLayer", "SiglipEncoderLayer",
)  # fmt: skip

_MOST = 40  # letters of a name that is compared


def nearest_family(name: str) -> str | None:
    """The family that a name which is none was probably meant to be, or None."""
    if name in LAYER_CLASSES or _MOST < len(name):
        return None
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.lower(), LAYER_CLASSES, 1, 0.8)), None)


def is_of_another(name: str, own: str) -> bool:
    """Whether a class is surely not that of a family's layer: that of another family, or its own with a slip."""
    if name == own:
        return False
    return name.lower() in {known.lower() for known in LAYER_CLASSES.values()} or slip(name, (own,)) is not None

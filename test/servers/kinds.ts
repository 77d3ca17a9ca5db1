/**
 * What the servers answer beside chats, from their documentation:
 *
 * - https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
 * - https://github.com/ollama/ollama/blob/main/docs/api.md
 * - https://lmstudio.ai/docs/app/api/endpoints/rest
 * - https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
 */
import type { ServerKind } from "./local-server.js";

function createModelList(...models: readonly object[]): object {
  return { object: "list", data: models };
}

export const llamaCpp: ServerKind = {
  provider: "llamacpp",
  address: "LLAMACPP_BASE_URL",
  modelId: "qwen3-8b-q4_k_m.gguf",
  pages: (contextWindow) => ({
    "/v1/models": createModelList({
      id: "qwen3-8b-q4_k_m.gguf",
      object: "model",
      owned_by: "llamacpp",
      meta: {
        vocab_type: 2,
        n_vocab: 151_936,
        n_ctx_train: 40_960,
        n_embd: 4_096,
        n_params: 8_190_735_360,
        size: 5_021_777_920,
        ...(contextWindow === undefined ? {} : { n_ctx: contextWindow }),
      },
    }),
  }),
  unknownPage: { status: 404, body: { error: { code: 404, message: "File Not Found", type: "not_found_error" } } },
  noMessages: {
    status: 400,
    body: { error: { code: 400, message: "'messages' is required", type: "invalid_request_error" } },
  },
  refusedFormat: {
    status: 400,
    body: { error: { code: 400, message: "failed to parse grammar", type: "invalid_request_error" } },
  },
};

/** Older versions have no `n_ctx` in the list of models, but in `/props`. */
export const olderLlamaCpp: ServerKind = {
  ...llamaCpp,
  pages: (contextWindow) => ({
    ...llamaCpp.pages(undefined),
    "/props": {
      default_generation_settings: { id: 0, is_processing: false, n_ctx: contextWindow, params: {} },
      total_slots: 1,
      model_path: "/models/qwen3-8b-q4_k_m.gguf",
      build_info: "b4500-1b2c3d4e",
    },
  }),
};

export const ollama: ServerKind = {
  provider: "ollama",
  address: "OLLAMA_BASE_URL",
  modelId: "qwen3:8b",
  pages: (contextWindow) => ({
    "/v1/models": createModelList({ id: "qwen3:8b", object: "model", created: 1_790_000_000, owned_by: "library" }),
    "/api/ps": { models: [] },
    "/api/show": {
      license: "Apache License",
      modelfile: "FROM qwen3:8b",
      parameters: 'stop                           "<|im_start|>"\ntemperature                    0.6',
      details: { family: "qwen3", parameter_size: "8.2B", quantization_level: "Q4_K_M" },
      model_info: { "general.architecture": "qwen3", "qwen3.block_count": 36, "qwen3.context_length": contextWindow },
      capabilities: ["completion", "tools", "thinking"],
    },
  }),
  unknownPage: { status: 404, body: "404 page not found" },
  noMessages: {
    status: 400,
    body: {
      error: { message: "[] is too short - 'messages'", type: "invalid_request_error", param: null, code: null },
    },
  },
  refusedFormat: {
    status: 400,
    body: {
      error: { message: "invalid JSON schema in format", type: "invalid_request_error", param: null, code: null },
    },
  },
};

/** A loaded model's own context says more than what the model was made for. */
export const loadedOllama: ServerKind = {
  ...ollama,
  pages: (contextWindow) => ({
    ...ollama.pages(262_144),
    "/api/ps": { models: [{ name: "qwen3:8b", model: "qwen3:8b", size: 6e9, context_length: contextWindow }] },
  }),
};

/** The Modelfile sets the context. */
export const configuredOllama: ServerKind = {
  ...ollama,
  pages: (contextWindow) => {
    const pages = ollama.pages(262_144);
    const details = pages["/api/show"] as { readonly parameters: string };
    const parameters = `${details.parameters}\nnum_ctx                        ${contextWindow}`;
    return { ...pages, "/api/show": { ...details, parameters } };
  },
};

export const lmStudio: ServerKind = {
  provider: "lmstudio",
  address: "LMSTUDIO_BASE_URL",
  modelId: "qwen/qwen3-8b",
  pages: (contextWindow) => ({
    "/v1/models": createModelList(
      { id: "qwen/qwen3-8b", object: "model", owned_by: "organization_owner" },
      { id: "text-embedding-nomic-embed-text-v1.5", object: "model", owned_by: "organization_owner" },
    ),
    "/api/v0/models": createModelList(
      { id: "text-embedding-nomic-embed-text-v1.5", object: "model", type: "embeddings", max_context_length: 2_048 },
      {
        id: "qwen/qwen3-8b",
        object: "model",
        type: "llm",
        publisher: "qwen",
        arch: "qwen3",
        compatibility_type: "gguf",
        quantization: "Q4_K_M",
        state: "loaded",
        max_context_length: 40_960,
        loaded_context_length: contextWindow,
      },
    ),
  }),
  unknownPage: { status: 200, body: { error: "Unexpected endpoint or method. (GET /unknown)" } },
  noMessages: { status: 400, body: { error: "'messages' field is required" } },
  refusedFormat: { status: 400, body: { error: "'response_format.type' must be 'json_schema' or 'text'" } },
};

export const vllm: ServerKind = {
  provider: "vllm",
  address: "VLLM_BASE_URL",
  modelId: "Qwen/Qwen3-8B",
  pages: (contextWindow) => ({
    "/v1/models": createModelList({
      id: "Qwen/Qwen3-8B",
      object: "model",
      created: 1_790_000_000,
      owned_by: "vllm",
      root: "Qwen/Qwen3-8B",
      parent: null,
      max_model_len: contextWindow,
    }),
  }),
  unknownPage: { status: 404, body: { detail: "Not Found" } },
  noMessages: {
    status: 400,
    body: { error: { message: "Field required: messages", type: "BadRequestError", param: null, code: 400 } },
  },
  refusedFormat: {
    status: 400,
    body: { error: { message: "response_format is not supported", type: "BadRequestError", param: null, code: 400 } },
  },
};

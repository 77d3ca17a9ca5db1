/**
 * Queries a model server for a model's context window. Each self-hosted server reports it in its own way:
 *
 * - llama.cpp: `meta.n_ctx` of `/v1/models`, else `/props`. Both are the limit of one request.
 * - Ollama: `/api/ps` for a loaded model, else `num_ctx` of `/api/show`, else the longest context that the model supports.
 * - LM Studio: the loaded context length in `/api/v0/models`, else the maximum.
 * - vLLM: `max_model_len` of `/v1/models`.
 */
import { isObject } from "../../core/data/is-object.js";
import { fetchJson, type ModelList, pickObjects, trimTrailingSlashes } from "./server-requests.js";

type Fields = { readonly [key: string]: unknown };

/** Tokens, input and output together; undefined if the server does not report it. */
export async function askContextWindow(
  provider: string,
  address: string,
  modelId: string,
  options: ModelList,
): Promise<number | undefined> {
  const base = trimTrailingSlashes(address);
  // The servers' native APIs are next to the OpenAI-compatible one at `/v1`.
  const root = base.replace(/\/v1$/, "");
  switch (provider) {
    case "ollama":
      return askOllamaWindow(root, modelId, options);
    case "lmstudio":
      return askLmStudioWindow(root, modelId, options);
    case "llamacpp": {
      const [listed, props] = await Promise.all([
        readListedWindow(base, modelId, options),
        fetchJson(`${root}/props`, options),
      ]);
      return listed ?? toTokenCount(asFields(asFields(props).default_generation_settings).n_ctx);
    }
    default:
      return readListedWindow(base, modelId, options);
  }
}

async function readListedWindow(base: string, modelId: string, options: ModelList): Promise<number | undefined> {
  const models = pickObjects(asFields(await fetchJson(`${base}/models`, options)).data);
  // A server with one model may accept any name for it.
  const model = models.find(({ id }) => id === modelId) ?? (models.length === 1 ? models[0] : undefined);
  if (model === undefined) return undefined;
  return (
    toTokenCount(asFields(model.meta).n_ctx) ?? toTokenCount(model.max_model_len) ?? toTokenCount(model.context_length)
  );
}

async function askOllamaWindow(root: string, modelId: string, options: ModelList): Promise<number | undefined> {
  const [loaded, shown] = await Promise.all([
    fetchJson(`${root}/api/ps`, options),
    fetchJson(`${root}/api/show`, options, { model: modelId }),
  ]);
  const names: readonly unknown[] = [modelId, `${modelId}:latest`];
  const running = pickObjects(asFields(loaded).models).find(
    ({ name, model }) => names.includes(name) || names.includes(model),
  );
  const { parameters, model_info: info } = asFields(shown);
  const maxContext = Object.entries(asFields(info)).find(([key]) => key.endsWith(".context_length"))?.[1];
  return toTokenCount(running?.context_length) ?? parseNumCtx(parameters) ?? toTokenCount(maxContext);
}

/** Reads `num_ctx` from a Modelfile's parameters, one on each line. */
function parseNumCtx(parameters: unknown): number | undefined {
  if (typeof parameters !== "string") return undefined;
  return toTokenCount(Number(/^num_ctx[ \t]+(\d{1,9})$/m.exec(parameters)?.[1]));
}

async function askLmStudioWindow(root: string, modelId: string, options: ModelList): Promise<number | undefined> {
  const models = pickObjects(asFields(await fetchJson(`${root}/api/v0/models`, options)).data);
  const model = models.find(({ id }) => id === modelId);
  return toTokenCount(model?.loaded_context_length) ?? toTokenCount(model?.max_context_length);
}

function toTokenCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function asFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

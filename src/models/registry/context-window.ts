/**
 * Asks a model server for a model's context window. Servers of one's own tell it, each in its own way:
 *
 * - llama.cpp: `meta.n_ctx` of `/v1/models`, else `/props`. Both say how much fits into one request.
 * - Ollama: `/api/ps` for a loaded model, else `num_ctx` of `/api/show`, else the longest context that the model was made for.
 * - LM Studio: `/api/v0/models`, what is loaded, else the longest.
 * - vLLM: `max_model_len` of `/v1/models`.
 */
import { askServer, baseOf, isObject, type ModelList, objectsIn } from "./ask-server.js";

type Fields = { readonly [key: string]: unknown };

/** Tokens, input and output together; undefined if the server does not tell. */
export async function askContextWindow(
  provider: string,
  address: string,
  modelId: string,
  how: ModelList,
): Promise<number | undefined> {
  const base = baseOf(address);
  // The servers' own interfaces are beside the one of OpenAI, `/v1`.
  const root = base.replace(/\/v1$/, "");
  switch (provider) {
    case "ollama":
      return windowOfOllama(root, modelId, how);
    case "lmstudio":
      return windowOfLmStudio(root, modelId, how);
    case "llamacpp": {
      const [listed, props] = await Promise.all([windowInList(base, modelId, how), askServer(`${root}/props`, how)]);
      return listed ?? tokens(fieldsOf(fieldsOf(props).default_generation_settings).n_ctx);
    }
    default:
      return windowInList(base, modelId, how);
  }
}

async function windowInList(base: string, modelId: string, how: ModelList): Promise<number | undefined> {
  const models = objectsIn(fieldsOf(await askServer(`${base}/models`, how)).data);
  // A server with one model may take any name for it.
  const model = models.find(({ id }) => id === modelId) ?? (models.length === 1 ? models[0] : undefined);
  if (model === undefined) return undefined;
  return tokens(fieldsOf(model.meta).n_ctx) ?? tokens(model.max_model_len) ?? tokens(model.context_length);
}

async function windowOfOllama(root: string, modelId: string, how: ModelList): Promise<number | undefined> {
  const [loaded, shown] = await Promise.all([
    askServer(`${root}/api/ps`, how),
    askServer(`${root}/api/show`, how, { model: modelId }),
  ]);
  const names: readonly unknown[] = [modelId, `${modelId}:latest`];
  const running = objectsIn(fieldsOf(loaded).models).find(
    ({ name, model }) => names.includes(name) || names.includes(model),
  );
  const { parameters, model_info: info } = fieldsOf(shown);
  const longest = Object.entries(fieldsOf(info)).find(([key]) => key.endsWith(".context_length"))?.[1];
  return tokens(running?.context_length) ?? numCtx(parameters) ?? tokens(longest);
}

/** `num_ctx` of a Modelfile's parameters, which are lines of text. */
function numCtx(parameters: unknown): number | undefined {
  if (typeof parameters !== "string") return undefined;
  return tokens(Number(/^num_ctx[ \t]+(\d{1,9})$/m.exec(parameters)?.[1]));
}

async function windowOfLmStudio(root: string, modelId: string, how: ModelList): Promise<number | undefined> {
  const models = objectsIn(fieldsOf(await askServer(`${root}/api/v0/models`, how)).data);
  const model = models.find(({ id }) => id === modelId);
  return tokens(model?.loaded_context_length) ?? tokens(model?.max_context_length);
}

function tokens(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

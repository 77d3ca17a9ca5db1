/**
 * The providers that are known by name: which package speaks to each, and where its key and address are kept.
 */
import type { ProviderMetadata } from "../../core/data/message.js";

/** Environment variables, as in `process.env`. */
export type ProviderEnvironment = { readonly [name: string]: string | undefined };

type Common = {
  readonly name: string;
  /** The npm package that speaks the provider's protocol. */
  readonly packageName: string;
  /** The function of the package that makes the provider. */
  readonly factory: string;
  /** The variable that holds the API key. */
  readonly key?: string;
  /** The variable that holds another address than the usual one. */
  readonly address?: string;
  readonly providerOptions?: ProviderMetadata;
};

/** A provider with a package of its own, which knows the address. */
type OwnProtocol = Common & { readonly protocol: "own"; readonly key: string };

/** A server that speaks OpenAI's chat completions; a key only where the variable is set, unless it is required. */
type OpenAiCompatible = Common & {
  readonly protocol: "openai-compatible";
  readonly keyRequired?: true;
  readonly defaultAddress?: string;
  readonly address: string;
  /** What people call a server that runs on their own machine. */
  readonly localTitle?: string;
};

export type KnownProvider = OwnProtocol | OpenAiCompatible;

const compatible = {
  protocol: "openai-compatible",
  packageName: "@ai-sdk/openai-compatible",
  factory: "createOpenAICompatible",
} as const;

export const knownProviders: readonly KnownProvider[] = [
  {
    name: "anthropic",
    protocol: "own",
    packageName: "@ai-sdk/anthropic",
    factory: "createAnthropic",
    key: "ANTHROPIC_API_KEY",
    address: "ANTHROPIC_BASE_URL",
  },
  {
    name: "openai",
    protocol: "own",
    packageName: "@ai-sdk/openai",
    factory: "createOpenAI",
    key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL",
    // A session has to be whole by itself: what OpenAI stores is gone after a while, and reasoning with it.
    providerOptions: { openai: { store: false } },
  },
  {
    name: "google",
    protocol: "own",
    packageName: "@ai-sdk/google",
    factory: "createGoogleGenerativeAI",
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
  },
  {
    name: "mistral",
    protocol: "own",
    packageName: "@ai-sdk/mistral",
    factory: "createMistral",
    key: "MISTRAL_API_KEY",
  },
  { name: "groq", protocol: "own", packageName: "@ai-sdk/groq", factory: "createGroq", key: "GROQ_API_KEY" },
  { name: "xai", protocol: "own", packageName: "@ai-sdk/xai", factory: "createXai", key: "XAI_API_KEY" },
  {
    name: "deepseek",
    protocol: "own",
    packageName: "@ai-sdk/deepseek",
    factory: "createDeepSeek",
    key: "DEEPSEEK_API_KEY",
  },
  {
    ...compatible,
    name: "openrouter",
    key: "OPENROUTER_API_KEY",
    keyRequired: true,
    address: "OPENROUTER_BASE_URL",
    defaultAddress: "https://openrouter.ai/api/v1",
  },
  {
    ...compatible,
    name: "ollama",
    localTitle: "Ollama",
    address: "OLLAMA_BASE_URL",
    defaultAddress: "http://127.0.0.1:11434/v1",
  },
  {
    ...compatible,
    name: "llamacpp",
    localTitle: "llama.cpp",
    address: "LLAMACPP_BASE_URL",
    defaultAddress: "http://127.0.0.1:8080/v1",
  },
  {
    ...compatible,
    name: "lmstudio",
    localTitle: "LM Studio",
    address: "LMSTUDIO_BASE_URL",
    defaultAddress: "http://127.0.0.1:1234/v1",
  },
  {
    ...compatible,
    name: "vllm",
    localTitle: "vLLM",
    address: "VLLM_BASE_URL",
    defaultAddress: "http://127.0.0.1:8000/v1",
  },
  { ...compatible, name: "openai-compatible", key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL" },
];

/** The value of a variable; one that is empty counts as not set. */
export function variable(environment: ProviderEnvironment, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : environment[name]?.trim();
  return value === "" ? undefined : value;
}

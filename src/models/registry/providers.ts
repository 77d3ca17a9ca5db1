/**
 * The known providers: each one's client package, and the variables with its key and address.
 */
import type { ProviderMetadata } from "../../core/data/message.js";
import { isLoopbackHost } from "../../platform/loopback.js";

/** Environment variables, as in `process.env`. */
export type ProviderEnvironment = { readonly [name: string]: string | undefined };

type ProviderBase = {
  readonly name: string;
  /** The npm package for the provider's protocol. */
  readonly packageName: string;
  /** The package's function that creates the provider. */
  readonly factory: string;
  /** The variable that holds the API key. */
  readonly key?: string;
  /** The variable that overrides the default address. */
  readonly address?: string;
  readonly providerOptions?: ProviderMetadata;
};

/** A provider with its own package, which knows the default address. */
type OwnProtocol = ProviderBase & { readonly protocol: "own"; readonly key: string };

/** A server with OpenAI's chat completions interface. A key is sent if its variable is set. */
type OpenAiCompatible = ProviderBase & {
  readonly protocol: "openai-compatible";
  readonly keyRequired?: true;
  readonly defaultAddress?: string;
  readonly address: string;
  /** Whether to query the server for a model's context window. */
  readonly tellsWindow: boolean;
  /** Set for servers that run on the user's machine: the common name of the server. */
  readonly localTitle?: string;
};

export type KnownProvider = OwnProtocol | OpenAiCompatible;

const openAiCompatible = {
  protocol: "openai-compatible",
  packageName: "@ai-sdk/openai-compatible",
  factory: "createOpenAICompatible",
  tellsWindow: true,
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
    // Each request must be complete: OpenAI deletes stored items after a while, and the reasoning would be lost.
    providerOptions: { openai: { store: false } },
  },
  {
    name: "google",
    protocol: "own",
    packageName: "@ai-sdk/google",
    factory: "createGoogleGenerativeAI",
    key: "GOOGLE_GENERATIVE_AI_API_KEY",
    address: "GOOGLE_GENERATIVE_AI_BASE_URL",
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
    ...openAiCompatible,
    name: "openrouter",
    key: "OPENROUTER_API_KEY",
    keyRequired: true,
    tellsWindow: false,
    address: "OPENROUTER_BASE_URL",
    defaultAddress: "https://openrouter.ai/api/v1",
  },
  {
    ...openAiCompatible,
    name: "ollama",
    localTitle: "Ollama",
    address: "OLLAMA_BASE_URL",
    defaultAddress: "http://127.0.0.1:11434/v1",
  },
  {
    ...openAiCompatible,
    name: "llamacpp",
    localTitle: "llama.cpp",
    address: "LLAMACPP_BASE_URL",
    defaultAddress: "http://127.0.0.1:8080/v1",
  },
  {
    ...openAiCompatible,
    name: "lmstudio",
    localTitle: "LM Studio",
    address: "LMSTUDIO_BASE_URL",
    defaultAddress: "http://127.0.0.1:1234/v1",
  },
  {
    ...openAiCompatible,
    name: "vllm",
    localTitle: "vLLM",
    address: "VLLM_BASE_URL",
    defaultAddress: "http://127.0.0.1:8000/v1",
  },
  { ...openAiCompatible, name: "openai-compatible", key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL" },
];

/** The environment variables with a provider's key and address. */
export type ProviderVariables = {
  /** Absent if the provider takes no key. */
  readonly key?: string;
  /** Absent if the address is fixed. */
  readonly address?: string;
};

/** The environment variables of a model's provider, from a name such as `provider/model`; null if the provider is unknown. */
export function variablesOf(model: string): ProviderVariables | null {
  const provider = knownProviders.find(({ name }) => model.startsWith(`${name}/`));
  if (provider === undefined) return null;
  const { key, address } = provider;
  return { ...(key === undefined ? {} : { key }), ...(address === undefined ? {} : { address }) };
}

/** The address of a provider's server, if known: from its variable, else the default. */
export function findAddress(provider: KnownProvider, environment: ProviderEnvironment): string | undefined {
  const defaultAddress = provider.protocol === "own" ? undefined : provider.defaultAddress;
  return readVariable(environment, provider.address) ?? defaultAddress;
}

/** Whether an address is on this machine. */
export function isLoopback(address: string): boolean {
  return URL.canParse(address) && isLoopbackHost(new URL(address).hostname);
}

/** Whether this is the address of OpenAI's API. */
export function isOpenAiAddress(address: string): boolean {
  return URL.canParse(address) && new URL(address).hostname === "api.openai.com";
}

/** The trimmed value of a variable. An empty variable counts as not set. */
export function readVariable(environment: ProviderEnvironment, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : environment[name]?.trim();
  return value === "" ? undefined : value;
}

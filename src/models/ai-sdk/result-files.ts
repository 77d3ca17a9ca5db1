/**
 * Which files a provider's package can send within a tool's result. Other packages write the bytes as text, which no model can read
 * and which fills the context window.
 */
import type { LanguageModel } from "./language-model.js";

type ResultFileSupport = { readonly provider: RegExp; readonly mediaTypes: RegExp };

/** From the packages' code. `provider` matches the `provider` of a language model. */
const supportTable: readonly ResultFileSupport[] = [
  { provider: /(^|\.)anthropic\b/, mediaTypes: /^image\/(png|jpeg|gif|webp)$|^application\/pdf$/i },
  {
    provider: /^(openai|azure|azure-openai)\.responses$/,
    mediaTypes: /^image\/(png|jpeg|gif|webp)$|^application\/pdf$/i,
  },
  { provider: /^google\b/, mediaTypes: /^(image|audio|video)\/|^application\/pdf$/i },
];

/** Whether a tool's result may contain a file of a media type. An unknown provider gets no files. */
export function createResultFileCheck({ provider }: LanguageModel): (mediaType: string) => boolean {
  const support = supportTable.find((entry) => entry.provider.test(provider));
  return (mediaType) => support?.mediaTypes.test(mediaType) === true;
}

/**
 * Which files a provider's package can put into a tool's result. Packages that cannot write the bytes out as text, which no
 * model can read and which fills its context.
 */
import type { LanguageModel } from "./language-model.js";

type Taking = { readonly provider: RegExp; readonly takes: RegExp };

/** As the packages do it: `provider` is what a language model says of itself. */
const known: readonly Taking[] = [
  { provider: /(^|\.)anthropic\b/, takes: /^image\/(png|jpeg|gif|webp)$|^application\/pdf$/i },
  { provider: /^(openai|azure|azure-openai)\.responses$/, takes: /^image\/(png|jpeg|gif|webp)$|^application\/pdf$/i },
  { provider: /^google\b/, takes: /^(image|audio|video)\/|^application\/pdf$/i },
];

/** Whether a model can be shown a file of a media type within a tool's result; none where its package is not known to. */
export function takesInResults({ provider }: LanguageModel): (mediaType: string) => boolean {
  const found = known.find((one) => one.provider.test(provider));
  return (mediaType) => found?.takes.test(mediaType) === true;
}

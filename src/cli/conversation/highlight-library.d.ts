/**
 * The part of highlight.js that the conversation uses. The package's own types need browser types, and would add them to every
 * file.
 */
type Highlighted = {
  /** HTML: the text, in elements with the classes `hljs-…`. */
  readonly value: string;
  /** The mode in which the text ended. */
  readonly _top?: unknown;
};

declare const library: {
  readonly getLanguage: (name: string) => object | undefined;
  readonly highlight: (
    text: string,
    options: { readonly language: string; readonly ignoreIllegals: boolean },
  ) => Highlighted;
};
// biome-ignore lint/style/noDefaultExport: the package has one.
export default library;
export type { Highlighted };

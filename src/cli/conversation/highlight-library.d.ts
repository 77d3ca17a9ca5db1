/**
 * What the conversation uses of highlight.js. The types of the package need those of a browser, and would bring them
 * into every file.
 */
type Highlighted = {
  /** HTML: the text in elements with the classes `hljs-…`. */
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

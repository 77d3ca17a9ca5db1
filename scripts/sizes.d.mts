export function questionsAbout(
  files: readonly { readonly path: string; readonly text: string }[],
  reasons: { readonly [what: string]: string },
): readonly string[];

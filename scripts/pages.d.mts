/** A link or a picture of a page. */
type Link = { readonly target: string; readonly title: string | undefined; readonly isPicture: boolean };

export function markdownIn(folder: string, options?: { readonly recursive?: boolean }): string[];
export function titleOf(text: string): string;
export function linksOf(text: string): readonly Link[];
export function isForeign(target: string): boolean;
export function anchorsOf(text: string): ReadonlySet<string>;

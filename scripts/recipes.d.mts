export function pageWithCode(page: string, program: string): string;
export function stalePages(options?: { readonly write?: boolean }): readonly string[];

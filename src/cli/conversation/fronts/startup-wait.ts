/**
 * What the conversation waits for before a person can talk, such as servers that are started.
 */
export type StartupWait = {
  readonly begin: (notice: string, skip?: () => void) => void;
  readonly end: () => void;
  /** What the person is told; undefined if nothing is waited for. */
  readonly notice: () => string | undefined;
  /** Goes on without what is waited for. @returns whether that can be done */
  readonly skip: () => boolean;
};

export function createStartupWait(): StartupWait {
  let current: { readonly notice: string; readonly skip: (() => void) | undefined } | null = null;
  return {
    begin(notice, skip) {
      current = { notice, skip };
    },
    end() {
      current = null;
    },
    notice() {
      if (current === null) return undefined;
      return current.skip === undefined ? current.notice : `${current.notice} · esc does not wait`;
    },
    skip() {
      const { notice, skip } = current ?? {};
      if (notice === undefined || skip === undefined) return false;
      current = { notice: `no longer ${notice}`, skip: undefined };
      skip();
      return true;
    },
  };
}

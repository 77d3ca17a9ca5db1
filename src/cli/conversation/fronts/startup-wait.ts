/**
 * A wait before the person can talk, for example for servers that are starting.
 */
export type StartupWait = {
  readonly begin: (notice: string, skip?: () => void) => void;
  readonly end: () => void;
  /** The notice for the person; undefined outside a wait. */
  readonly notice: () => string | undefined;
  readonly canSkip: () => boolean;
  /** Continues without waiting. */
  readonly skip: () => void;
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
      return current.skip === undefined ? current.notice : `${current.notice} · esc skips the wait`;
    },
    canSkip: () => current?.skip !== undefined,
    skip() {
      const { notice, skip } = current ?? {};
      if (notice === undefined || skip === undefined) return;
      current = { notice: `no longer ${notice}`, skip: undefined };
      skip();
    },
  };
}

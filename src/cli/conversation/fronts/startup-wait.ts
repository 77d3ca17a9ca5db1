/**
 * A wait before the person can talk, for example for servers that are starting.
 */
export type StartupWait = {
  readonly begin: (waitText: string, skip?: () => void) => void;
  readonly end: () => void;
  /** What the person reads; undefined outside a wait. */
  readonly waitText: () => string | undefined;
  readonly canSkip: () => boolean;
  /** Continues without waiting. */
  readonly skip: () => void;
};

export function createStartupWait(): StartupWait {
  let current: { readonly waitText: string; readonly skip: (() => void) | undefined } | null = null;
  return {
    begin(waitText, skip) {
      current = { waitText, skip };
    },
    end() {
      current = null;
    },
    waitText() {
      if (current === null) return undefined;
      return current.skip === undefined ? current.waitText : `${current.waitText} · esc skips the wait`;
    },
    canSkip: () => current?.skip !== undefined,
    skip() {
      const { waitText, skip } = current ?? {};
      if (waitText === undefined || skip === undefined) return;
      current = { waitText: `no longer ${waitText}`, skip: undefined };
      skip();
    },
  };
}

/**
 * What the conversation waits for before a person can talk, such as servers that are started.
 */
export type Waiting = {
  readonly begin: (notice: string, skip?: () => void) => void;
  readonly end: () => void;
  /** What the person is told; undefined if nothing is waited for. */
  readonly notice: () => string | undefined;
  /** Goes on without what is waited for. @returns whether that can be done */
  readonly skip: () => boolean;
};

export function createWaiting(): Waiting {
  let present: { readonly notice: string; readonly skip: (() => void) | undefined } | null = null;
  return {
    begin(notice, skip) {
      present = { notice, skip };
    },
    end() {
      present = null;
    },
    notice() {
      if (present === null) return undefined;
      return present.skip === undefined ? present.notice : `${present.notice} · esc does not wait`;
    },
    skip() {
      const { notice, skip } = present ?? {};
      if (notice === undefined || skip === undefined) return false;
      present = { notice: `no longer ${notice}`, skip: undefined };
      skip();
      return true;
    },
  };
}

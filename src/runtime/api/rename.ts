/**
 * Changes the title of a session.
 */
import { anyValue, checkOptions, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { checkJson } from "../../core/data/json.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { MakeId } from "../../ports/clock.js";
import { checkNoteAndBy } from "./check-answer.js";

/** Changes the title of a session from outside its runs. */
export type Renaming = {
  /**
   * Sets the session's title: 1 to 200 characters. The default title is the first words of the first request. Whitespace is collapsed into
   * single spaces. Models do not see the title. Resolves when it is durable: in the log if the session is driven here, and otherwise in the
   * session's inbox.
   * @throws PawlError `no_session`, `bad_input`
   */
  readonly rename: (title: string, options?: { readonly by?: string }) => Promise<void>;
};

type RenameOptions = NonNullable<Parameters<Renaming["rename"]>[1]>;

const optionRules: OptionTable<RenameOptions> = { by: anyValue };

/** In characters. The title is in every row of the log, and in every session list. */
const maxTitle = 200;

/** @param load returns the state of the session; throws `no_session` if the session does not exist */
export function createRenaming(
  { makeId }: { readonly makeId: MakeId },
  load: () => Promise<State>,
  post: (messageId: string, body: InboxBody, known: State) => Promise<unknown>,
): Renaming {
  return {
    async rename(given, options = {}) {
      checkOptions("rename()", optionRules, options, { code: "bad_input", otherNames: { user: "by" } });
      const { by } = options;
      checkNoteAndBy({ by });
      const title = toTitle(given);
      await post(`session/${makeId()}`, { type: "session_change", title, ...defined({ by }) }, await load());
    },
  };
}

function toTitle(given: unknown): string {
  if (typeof given !== "string") throw new PawlError("bad_input", "A session's title must be a string.");
  // Only this much is normalized, because a longer title is rejected anyway.
  const title = given
    .slice(0, 100 * maxTitle)
    .replace(/\s+/g, " ")
    .trim();
  if (title === "") throw new PawlError("bad_input", "A session's title must not be empty.");
  if (title.length > maxTitle || given.length > 100 * maxTitle)
    throw new PawlError("bad_input", `A session's title must have at most ${maxTitle} characters.`);
  const checked = checkJson(title, { maxBytes: 8 * maxTitle });
  if (!checked.ok) throw new PawlError("bad_input", `The title cannot be stored: ${checked.error}`);
  return title;
}

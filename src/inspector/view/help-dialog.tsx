/**
 * The list of all keys.
 */
import { useLayoutEffect, useRef } from "preact/hooks";

const keys = [
  ["j  k", "next, previous (or ↓ ↑)"],
  ["Home  End", "first; newest, and follow"],
  ["n", "next problem: failed, retried or waiting"],
  ["w", "the waterfall of the steps"],
  ["Enter", "open"],
  ["→  ←", "show, hide child sessions"],
  ["a", "approvals"],
  ["y  e  n", "approve, edit, deny with a note"],
  ["d  f  a", "an interrupted call: done, failed, run again"],
  ["o", "open the step that asks"],
  ["r", "the request of the step, as it was sent"],
  ["l", "the log of the session"],
  ["f", "fork the session here"],
  ["s", "all sessions"],
  ["/", "find in the session, or in the list"],
  ["ctrl-K", "open a session (or ⌘K)"],
  ["Esc", "back"],
  ["?", "these keys"],
] as const;

export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-label="Keys"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <h2>Keys</h2>
      <dl>
        {keys.map(([key, about]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </dialog>
  );
}

/**
 * A dialog that opens a session by its title or id, from any screen.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ListedSession } from "../../server/client/index.js";
import { formatErrorMessage } from "../api.js";
import { formatStatus, resolveShownStatus, toOneLine } from "../state/format.js";
import { Age } from "./common.js";
import { useInspector } from "./hooks.js";
import { Icon, signOfStatus } from "./icons.js";

const searchDelayMs = 150;
const maxShown = 12;

/** Opens with ⌘K or ctrl-K. */
export function OpenDialog() {
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const handleKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey) return;
      event.preventDefault();
      setIsOpen((wasOpen) => !wasOpen);
    };
    addEventListener("keydown", handleKeyDown);
    return () => removeEventListener("keydown", handleKeyDown);
  }, []);
  return isOpen ? <OpenForm onClose={() => setIsOpen(false)} /> : null;
}

function OpenForm({ onClose }: { readonly onClose: () => void }) {
  const inspector = useInspector();
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [selectedIndex, setSelectedIndex] = useState(0);
  const { sessions, problem } = useSessions(text.trim());
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const open = (session: ListedSession | undefined) => {
    if (session === undefined) return;
    onClose();
    inspector.navigate({ screen: "session", sessionId: session.sessionId, tab: "step" });
  };
  const handleKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    const direction = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (direction !== 0) setSelectedIndex(Math.min(sessions.length - 1, Math.max(0, selectedIndex + direction)));
    else if (event.key === "Enter") open(sessions[selectedIndex]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="open-dialog"
      aria-label="Open a session"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
      onKeyDown={handleKeyDown}
    >
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="open-list"
        aria-activedescendant={sessions[selectedIndex] === undefined ? undefined : `open-${selectedIndex}`}
        aria-label="Title or id of a session"
        placeholder="Title or id of a session"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setSelectedIndex(0);
        }}
      />
      <div id="open-list" role="listbox" aria-label="Sessions">
        {sessions.map((session, index) => (
          <div
            key={session.sessionId}
            id={`open-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === selectedIndex}
            class={index === selectedIndex ? "open-line selected" : "open-line"}
            onClick={() => open(session)}
          >
            <Icon sign={signOfStatus(resolveShownStatus(session))} label={formatStatus(resolveShownStatus(session))} />
            <span class="cut" dir="auto">
              {toOneLine(session.info?.title ?? "") || "Untitled"}
            </span>
            <span class="mono dim">{session.sessionId.slice(0, 8)}</span>
            <span class="dim right">
              <Age at={session.updatedAt} isInList />
            </span>
          </div>
        ))}
      </div>
      {(problem !== null || sessions.length === 0) && (
        <p class="dim" role="status">
          {problem ?? "No session's title or id contains this."}
        </p>
      )}
    </dialog>
  );
}

function useSessions(text: string) {
  const inspector = useInspector();
  const [result, setResult] = useState<{
    readonly sessions: readonly ListedSession[];
    readonly problem: string | null;
  }>({
    sessions: [],
    problem: "Loading…",
  });
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      const query = { q: text, limit: maxShown };
      const { sessions } = await inspector.api.get<{ readonly sessions: readonly ListedSession[] }>(
        "/v1/sessions",
        query,
      );
      if (isCurrent) setResult({ sessions, problem: null });
    };
    const timer = setTimeout(
      () => {
        load().catch((error: unknown) => isCurrent && setResult({ sessions: [], problem: formatErrorMessage(error) }));
      },
      text === "" ? 0 : searchDelayMs,
    );
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [text]);
  return result;
}

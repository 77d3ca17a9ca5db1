/**
 * Labels a session as good or bad, with a note. Cases made from the session carry the label.
 */
import { useEffect, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import { useInspector } from "./hooks.js";

type Label = { readonly good: boolean; readonly note?: string };

export function LabelButtons({ sessionId }: { readonly sessionId: string }) {
  const { api } = useInspector();
  const [label, setLabel] = useState<Label | null>(null);
  /** The note as it is being written; null while its form is closed. */
  const [note, setNote] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/label`;
  useEffect(() => {
    let isCurrent = true;
    // If the label cannot be loaded, the session appears unlabelled.
    api.get<{ readonly label: Label | null }>(path).then(
      (loaded) => isCurrent && setLabel(loaded.label),
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [path]);

  /** Sends a change of the label, then shows the label and opens or closes the form. */
  async function change(send: () => Promise<Label | null>, nextNote: string | null): Promise<void> {
    try {
      setLabel(await send());
      setNote(nextNote);
      setProblem(null);
    } catch (error) {
      setProblem(formatErrorMessage(error));
    }
  }

  async function save(good: boolean, text: string): Promise<Label> {
    const body = { good, ...(text.trim() === "" ? {} : { note: text.trim() }) };
    return (await api.post<{ readonly label: Label }>(path, body)).label;
  }

  async function remove(): Promise<null> {
    await api.remove(path);
    return null;
  }

  /** Saves a new verdict immediately and asks for a reason; the same verdict again opens or closes the form. */
  function choose(good: boolean): void {
    if (label?.good !== good) void change(() => save(good, ""), "");
    else setNote(note === null ? (label.note ?? "") : null);
  }

  const thumb = (good: boolean, title: string) => (
    <button
      type="button"
      class="quiet icon-button"
      aria-pressed={label?.good === good}
      aria-label={title}
      title={label?.good === good && label.note !== undefined ? `${title}: ${label.note}` : title}
      onClick={() => choose(good)}
    >
      <Thumb isDown={!good} isSet={label?.good === good} />
    </button>
  );
  return (
    <span class="label-buttons">
      {thumb(true, "Good")}
      {thumb(false, "Bad")}
      {note !== null && label !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void change(() => save(label.good, note), null);
          }}
        >
          <input
            type="text"
            aria-label="Why"
            placeholder={label.good ? "What was good?" : "What was wrong?"}
            maxLength={4_000}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
            onKeyDown={(event) => event.key === "Escape" && setNote(null)}
          />
          <button type="submit">Save</button>
          <button type="button" class="quiet" onClick={() => void change(remove, null)}>
            Remove label
          </button>
        </form>
      )}
      {problem !== null && (
        <span role="alert" class="dim">
          {problem}
        </span>
      )}
    </span>
  );
}

function Thumb({ isDown, isSet }: { readonly isDown: boolean; readonly isSet: boolean }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width="14"
      height="14"
      aria-hidden="true"
      style={isDown ? "transform: rotate(180deg)" : ""}
    >
      <path
        d="M1.5 7h3v7h-3zM6 7.2 8.6 2c1 0 1.7.7 1.7 1.7L9.8 6h3.6c.8 0 1.3.7 1.1 1.4l-1.3 5.2c-.1.6-.6 1-1.2 1H6z"
        fill={isSet ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-linejoin="round"
      />
    </svg>
  );
}

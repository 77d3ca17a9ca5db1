/**
 * Labels a session as good or bad, with a note. Evals take the label along.
 */
import { useEffect, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import { useInspector } from "./hooks.js";

type Label = { readonly good: boolean; readonly note?: string };

export function LabelButtons({ sessionId }: { readonly sessionId: string }) {
  const { api } = useInspector();
  const [label, setLabel] = useState<Label | null>(null);
  const [note, setNote] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/label`;
  useEffect(() => {
    let isCurrent = true;
    // Without the label, the buttons are as for a session that has none.
    api.get<{ readonly label: Label | null }>(path).then(
      (loaded) => isCurrent && setLabel(loaded.label),
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [path]);

  async function save(good: boolean, text: string): Promise<void> {
    try {
      const body = { good, ...(text.trim() === "" ? {} : { note: text.trim() }) };
      setLabel((await api.post<{ readonly label: Label }>(path, body)).label);
      setNote(null);
      setProblem(null);
    } catch (error) {
      setProblem(formatErrorMessage(error));
    }
  }

  const thumb = (good: boolean, title: string) => (
    <button
      type="button"
      class="quiet icon-button"
      aria-pressed={label?.good === good}
      aria-label={title}
      title={label?.good === good && label.note !== undefined ? `${title}: ${label.note}` : title}
      onClick={() => {
        void save(good, label?.note ?? "");
        setNote(label?.note ?? "");
      }}
    >
      <Thumb isDown={!good} />
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
            void save(label.good, note);
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

function Thumb({ isDown }: { readonly isDown: boolean }) {
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
        fill="none"
        stroke="currentColor"
        stroke-linejoin="round"
      />
    </svg>
  );
}

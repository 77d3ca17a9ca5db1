/**
 * The output of a call. What the model was given of a large one is a part: the whole is kept, and shown by the page.
 */
import { useState } from "preact/hooks";
import type { ToolOutput } from "../../index.js";
import { messageOf } from "../api.js";
import { bytes, whole } from "../state/format.js";
import type { Loaded } from "../state/session-state.js";
import { textOfOutput } from "../state/step-items.js";
import { useInspector } from "./hooks.js";
import { PlainText } from "./parts.js";

/** Lines of an output that are shown at first. */
const mostLines = 12;
/** Lines of a page, and the most characters of a line. */
const pageLines = 400;
const longestLine = 4_000;
/** The largest output that the page loads. */
const mostBytes = 32 * 1_024 * 1_024;

export function OutputView({
  output,
  isError,
  sessionId,
}: {
  readonly output: ToolOutput;
  readonly isError: boolean;
  readonly sessionId: string;
}) {
  const [isWhole, setIsWhole] = useState(false);
  const text = textOfOutput(output);
  const head = text.slice(0, 4_000).split("\n").slice(0, mostLines).join("\n");
  const isShort = head.length === text.length;
  const full = "full" in output ? output.full : undefined;
  return (
    <div class={isError ? "output error" : "output"}>
      {text === "" ? <p class="dim">no output</p> : <PlainText text={isWhole ? text : head} mono />}
      {!isShort && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${whole(text.split("\n").length)} lines`}
        </button>
      )}
      {full !== undefined && <KeptOutput full={full} sessionId={sessionId} />}
    </div>
  );
}

type Full = NonNullable<Extract<ToolOutput, { readonly type: "text" }>["full"]>;

function KeptOutput({ full, sessionId }: { readonly full: Full; readonly sessionId: string }) {
  const inspector = useInspector();
  const [lines, setLines] = useState<Loaded<readonly string[]> | null>(null);
  const load = () => {
    setLines({ status: "loading" });
    inspector.api.text(`/v1/sessions/${encodeURIComponent(sessionId)}/blobs/${full.blob}`).then(
      (text) => setLines({ status: "ready", value: text.split("\n") }),
      (error: unknown) => setLines({ status: "failed", message: messageOf(error) }),
    );
  };
  const size = `${bytes(full.bytes)}, ${whole(full.lines)} lines`;
  if (full.bytes > mostBytes) return <p class="dim">The whole output ({size}) is too large for this page.</p>;
  if (lines?.status === "ready") return <Pages lines={lines.value} size={size} />;
  return (
    <>
      <button type="button" class="more" disabled={lines?.status === "loading"} onClick={load}>
        Show the whole output ({size})
      </button>
      {lines?.status === "failed" && <p class="note bad">{lines.message}</p>}
    </>
  );
}

function Pages({ lines, size }: { readonly lines: readonly string[]; readonly size: string }) {
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(lines.length / pageLines) - 1);
  const from = page * pageLines;
  const shown = lines
    .slice(from, from + pageLines)
    .map((line) => (line.length > longestLine ? `${line.slice(0, longestLine)}…` : line));
  const to = (label: string, where: number, isOff: boolean) => (
    <button type="button" class="quiet" disabled={isOff} onClick={() => setPage(where)}>
      {label}
    </button>
  );
  return (
    <section class="kept-output" aria-label="The whole output">
      <p class="kept-bar">
        <span class="num dim">
          Lines {whole(from + 1)} to {whole(Math.min(lines.length, from + pageLines))} of {whole(lines.length)} ({size})
        </span>
        {to("First", 0, page === 0)}
        {to("Previous", page - 1, page === 0)}
        {to("Next", page + 1, page === last)}
        {to("Last", last, page === last)}
      </p>
      <div class="plain mono kept-lines" dir="auto" tabIndex={0} role="region" aria-label="Lines of the output">
        {shown.join("\n")}
      </div>
    </section>
  );
}

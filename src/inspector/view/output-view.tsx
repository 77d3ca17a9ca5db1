/**
 * The output of a call. A model receives only a part of a large output. The full output is stored, and the page can show it.
 */
import { useState } from "preact/hooks";
import type { ToolOutput } from "../../index.js";
import { formatErrorMessage } from "../api.js";
import { formatBytes, formatCount } from "../state/format.js";
import type { Loaded } from "../state/session-state.js";
import { textOfOutput } from "../state/step-items.js";
import { PlainText } from "./common.js";
import { useInspector } from "./hooks.js";

/** The number of lines of an output that are shown at first. */
const maxLines = 12;
/** The number of lines of a page, and the maximum length of a line. */
const pageLines = 400;
const maxLine = 4_000;
/** The maximum size of an output that the page loads, in bytes. */
const maxBytes = 32 * 1_024 * 1_024;

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
  const preview = text.slice(0, 4_000).split("\n").slice(0, maxLines).join("\n");
  const isShort = preview.length === text.length;
  const full = "full" in output ? output.full : undefined;
  return (
    <div class={isError ? "output error" : "output"}>
      {text === "" ? <p class="dim">no output</p> : <PlainText text={isWhole ? text : preview} mono />}
      {!isShort && (
        <button type="button" class="more" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>
          {isWhole ? "Show less" : `Show all ${formatCount(text.split("\n").length)} lines`}
        </button>
      )}
      {full !== undefined && <FullOutput full={full} sessionId={sessionId} />}
    </div>
  );
}

type FullOutputReference = NonNullable<Extract<ToolOutput, { readonly type: "text" }>["full"]>;

function FullOutput({ full, sessionId }: { readonly full: FullOutputReference; readonly sessionId: string }) {
  const inspector = useInspector();
  const [lines, setLines] = useState<Loaded<readonly string[]> | null>(null);
  const load = () => {
    setLines({ status: "loading" });
    inspector.api.text(`/v1/sessions/${encodeURIComponent(sessionId)}/blobs/${full.blob}`).then(
      (text) => setLines({ status: "ready", value: text.split("\n") }),
      (error: unknown) => setLines({ status: "failed", message: formatErrorMessage(error) }),
    );
  };
  const size = `${formatBytes(full.bytes)}, ${formatCount(full.lines)} lines`;
  if (full.bytes > maxBytes) return <p class="dim">The whole output ({size}) is too large for this page.</p>;
  if (lines?.status === "ready") return <OutputPages lines={lines.value} size={size} />;
  return (
    <>
      <button type="button" class="more" disabled={lines?.status === "loading"} onClick={load}>
        Show the whole output ({size})
      </button>
      {lines?.status === "failed" && <p class="note bad">{lines.message}</p>}
    </>
  );
}

function OutputPages({ lines, size }: { readonly lines: readonly string[]; readonly size: string }) {
  const [page, setPage] = useState(0);
  const last = Math.max(0, Math.ceil(lines.length / pageLines) - 1);
  const firstLine = page * pageLines;
  const visibleLines = lines
    .slice(firstLine, firstLine + pageLines)
    .map((line) => (line.length > maxLine ? `${line.slice(0, maxLine)}…` : line));
  const pageButton = (label: string, targetPage: number, isDisabled: boolean) => (
    <button type="button" class="quiet" disabled={isDisabled} onClick={() => setPage(targetPage)}>
      {label}
    </button>
  );
  return (
    <section class="kept-output" aria-label="The whole output">
      <p class="kept-bar">
        <span class="num dim">
          Lines {formatCount(firstLine + 1)} to {formatCount(Math.min(lines.length, firstLine + pageLines))} of{" "}
          {formatCount(lines.length)} ({size})
        </span>
        {pageButton("First", 0, page === 0)}
        {pageButton("Previous", page - 1, page === 0)}
        {pageButton("Next", page + 1, page === last)}
        {pageButton("Last", last, page === last)}
      </p>
      <div class="plain mono kept-lines" dir="auto" tabIndex={0} role="region" aria-label="Lines of the output">
        {visibleLines.join("\n")}
      </div>
    </section>
  );
}

/**
 * The fork dialog: the entry up to which the session is copied, and the input for the copy. The session itself is not changed.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import { askCopy, copySession, type ForkedStep, loadForkedStep } from "../fork-session.js";
import { countOmittedFiles, type ForkPoint, replaceText, textOfRequest } from "../state/fork.js";
import { parseStepKey } from "../state/route.js";
import type { SessionState } from "../state/session-state.js";
import { FormButtons } from "./form-buttons.js";
import { useInspector } from "./hooks.js";

/** `again`: the copy ends before the run's request, which can be reworded. `after`: the copy continues after the step. */
type ForkMode = "again" | "after";

export function ForkDialog({ session, point }: { readonly session: SessionState; readonly point: ForkPoint }) {
  const inspector = useInspector();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = () => inspector.dispatch({ type: "fork", point: null });
  const step = "step" in point ? point.step : null;
  const forkedStep = useForkedStep(session, step);
  return (
    <dialog
      ref={dialog}
      class="fork"
      aria-label="Fork this session"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
      // The screen below must not handle these keys.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2>Fork</h2>
      <p class="dim">A new session with the same history up to this point. This session does not change.</p>
      {"seq" in point && <ForkForm session={session} forked={{ runStarted: null, end: point.seq }} step={null} />}
      {step !== null && forkedStep === null && <p class="loading">Loading…</p>}
      <ErrorText text={typeof forkedStep === "string" ? forkedStep : null} />
      {step !== null && forkedStep !== null && typeof forkedStep === "object" && (
        <ForkForm session={session} forked={forkedStep} step={step} />
      )}
    </dialog>
  );
}

function ErrorText({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p class="warning" role="alert">
      {text}
    </p>
  );
}

/** Null while loading; a string if loading failed. */
function useForkedStep(session: SessionState, step: string | null): ForkedStep | string | null {
  const inspector = useInspector();
  const [forkedStep, setForkedStep] = useState<ForkedStep | string | null>(null);
  useEffect(() => {
    if (step === null || !session.isIndexed) return;
    let isCurrent = true;
    loadForkedStep(inspector.api, session, step).then(
      (forked) => isCurrent && setForkedStep((current) => current ?? forked ?? "This step does not exist."),
      (error: unknown) => isCurrent && setForkedStep(formatErrorMessage(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [step, session.isIndexed]);
  return forkedStep;
}

function ForkForm({
  session,
  forked: { runStarted, end },
  step,
}: {
  readonly session: SessionState;
  readonly forked: ForkedStep;
  readonly step: string | null;
}) {
  const index = step === null ? null : parseStepKey(step).index;
  const [how, setHow] = useState<ForkMode>(runStarted !== null && index === 1 ? "again" : "after");
  const request = runStarted === null ? "" : textOfRequest(runStarted.input);
  const [texts, setTexts] = useState<{ readonly [how in ForkMode]: string }>({ again: request, after: "" });
  const isAgain = how === "again" && runStarted !== null;
  const text = texts[how];
  const forkSeq = isAgain ? runStarted.seq - 1 : end;
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), [how]);
  const { send, isSending, problem, close } = useFork(session.id, forkSeq);
  const submit = () => text.trim() !== "" && send(replaceText(text, isAgain ? runStarted.input : []));
  const handleKeyDown = (event: KeyboardEvent) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit();
  const omittedFiles = isAgain ? countOmittedFiles(runStarted.input) : 0;
  return (
    <div class="editor" onKeyDown={handleKeyDown}>
      {runStarted !== null && <ModeChoices how={how} onChoose={setHow} index={index} />}
      <label>
        <span class="field-name">
          {isAgain ? "The request" : "The next request"} <span class="dim num">after entry {forkSeq}</span>
        </span>
        <textarea
          rows={5}
          dir="auto"
          ref={field}
          value={text}
          onInput={(event) => setTexts({ ...texts, [how]: event.currentTarget.value })}
        />
      </label>
      {omittedFiles > 0 && (
        <p class="warning">
          {omittedFiles === 1 ? "One file of the request is" : `${omittedFiles} files of the request are`} not sent
          again.
        </p>
      )}
      <ErrorText text={problem} />
      <FormButtons
        label="Fork and send"
        keys="Ctrl Enter"
        isDisabled={isSending || text.trim() === ""}
        onSend={submit}
        onCancel={close}
      >
        <button type="button" disabled={isSending} onClick={() => send(null)}>
          Copy only
        </button>
      </FormButtons>
    </div>
  );
}

function ModeChoices({
  how,
  onChoose,
  index,
}: {
  readonly how: ForkMode;
  readonly onChoose: (how: ForkMode) => void;
  readonly index: number | null;
}) {
  return (
    <fieldset>
      <legend class="label">The copy</legend>
      <ModeChoice how="again" chosen={how} onChoose={onChoose} label="asks again">
        The copy ends before this run's request.
      </ModeChoice>
      <ModeChoice how="after" chosen={how} onChoose={onChoose} label={`continues after step ${index}`}>
        Work in progress at that point is aborted.
      </ModeChoice>
    </fieldset>
  );
}

function ModeChoice({
  how,
  chosen,
  onChoose,
  label,
  children,
}: {
  readonly how: ForkMode;
  readonly chosen: ForkMode;
  readonly onChoose: (how: ForkMode) => void;
  readonly label: string;
  readonly children: string;
}) {
  return (
    <label class="flag">
      <input type="radio" name="how" checked={how === chosen} onChange={() => onChoose(how)} />
      <span>
        {label} <span class="dim">{children}</span>
      </span>
    </label>
  );
}

/** Copies the session, sends input to the copy, and opens it. If sending fails, a retry uses the existing copy. */
function useFork(sessionId: string, forkSeq: number) {
  const inspector = useInspector();
  const copies = useRef(new Map<number, string>());
  const [state, setState] = useState<{ readonly isSending: boolean; readonly problem: string | null }>({
    isSending: false,
    problem: null,
  });
  const close = () => inspector.dispatch({ type: "fork", point: null });
  const fork = async (input: Parameters<typeof askCopy>[2] | null) => {
    const copy = copies.current.get(forkSeq) ?? (await copySession(inspector.api, sessionId, forkSeq));
    copies.current.set(forkSeq, copy);
    if (input !== null) await askCopy(inspector.api, copy, input);
    inspector.navigate({ screen: "session", sessionId: copy, tab: "step" });
  };
  const send = (input: Parameters<typeof askCopy>[2] | null) => {
    if (state.isSending) return;
    setState({ isSending: true, problem: null });
    fork(input).catch((error: unknown) => setState({ isSending: false, problem: formatErrorMessage(error) }));
  };
  return { ...state, send, close };
}

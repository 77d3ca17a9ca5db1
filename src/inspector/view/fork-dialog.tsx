/**
 * Forking a session: up to where it is copied, and what the copy is asked. The session itself stays as it is.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api.js";
import { askCopy, copySession, type ForkedStep, loadForkedStep } from "../fork-session.js";
import { type ForkPlace, filesLeftOut, inputWith, textIn } from "../state/fork.js";
import { stepOfKey } from "../state/route.js";
import type { SessionState } from "../state/session-state.js";
import { FormButtons } from "./form-buttons.js";
import { useInspector } from "./hooks.js";

/** `again`: the copy ends before the request of the run, which is asked in other words. `after`: it goes on from there. */
type How = "again" | "after";

export function ForkDialog({ session, place }: { readonly session: SessionState; readonly place: ForkPlace }) {
  const inspector = useInspector();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = () => inspector.dispatch({ type: "fork", place: null });
  const step = "step" in place ? place.step : null;
  const found = useForkedStep(session, step);
  return (
    <dialog
      ref={dialog}
      class="fork"
      aria-label="Fork this session"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
      // Keys of the screen below stay there.
      onKeyDown={(event) => event.stopPropagation()}
    >
      <h2>Fork</h2>
      <p class="dim">A new session with the same history up to a place. This session stays as it is.</p>
      {"seq" in place && <ForkForm session={session} forked={{ begun: null, end: place.seq }} step={null} />}
      {step !== null && found === null && <p class="loading">Loading…</p>}
      <Problem text={typeof found === "string" ? found : null} />
      {step !== null && found !== null && typeof found === "object" && (
        <ForkForm session={session} forked={found} step={step} />
      )}
    </dialog>
  );
}

function Problem({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p class="warning" role="alert">
      {text}
    </p>
  );
}

/** Null while it is loaded; a text if that failed. */
function useForkedStep(session: SessionState, step: string | null): ForkedStep | string | null {
  const inspector = useInspector();
  const [found, setFound] = useState<ForkedStep | string | null>(null);
  useEffect(() => {
    if (step === null || !session.isIndexed) return;
    let isCurrent = true;
    loadForkedStep(inspector.api, session, step).then(
      (forked) => isCurrent && setFound((known) => known ?? forked ?? "There is no such step."),
      (error: unknown) => isCurrent && setFound(messageOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [step, session.isIndexed]);
  return found;
}

function ForkForm({
  session,
  forked: { begun, end },
  step,
}: {
  readonly session: SessionState;
  readonly forked: ForkedStep;
  readonly step: string | null;
}) {
  const index = step === null ? null : stepOfKey(step).index;
  const [how, setHow] = useState<How>(begun !== null && index === 1 ? "again" : "after");
  const request = begun === null ? "" : textIn(begun.input);
  const [texts, setTexts] = useState<{ readonly [how in How]: string }>({ again: request, after: "" });
  const isAgain = how === "again" && begun !== null;
  const text = texts[how];
  const at = isAgain ? begun.seq - 1 : end;
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus(), [how]);
  const { send, isSending, problem, close } = useFork(session.id, at);
  const submit = () => text.trim() !== "" && send(inputWith(text, isAgain ? begun.input : []));
  const press = (event: KeyboardEvent) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && submit();
  const leftOut = isAgain ? filesLeftOut(begun.input) : 0;
  return (
    <div class="editor" onKeyDown={press}>
      {begun !== null && <Choices how={how} onChoose={setHow} index={index} />}
      <label>
        <span class="field-name">
          {isAgain ? "The request" : "The next request"} <span class="dim num">after entry {at}</span>
        </span>
        <textarea
          rows={5}
          dir="auto"
          ref={field}
          value={text}
          onInput={(event) => setTexts({ ...texts, [how]: event.currentTarget.value })}
        />
      </label>
      {leftOut > 0 && (
        <p class="warning">
          {leftOut === 1 ? "One file of the request is" : `${leftOut} files of the request are`} not sent again.
        </p>
      )}
      <Problem text={problem} />
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

function Choices({
  how,
  onChoose,
  index,
}: {
  readonly how: How;
  readonly onChoose: (how: How) => void;
  readonly index: number | null;
}) {
  return (
    <fieldset>
      <legend class="label">The copy</legend>
      <Choice how="again" chosen={how} onChoose={onChoose} label="asks again">
        It ends before the request of this run.
      </Choice>
      <Choice how="after" chosen={how} onChoose={onChoose} label={`goes on after step ${index}`}>
        What was under way there is ended.
      </Choice>
    </fieldset>
  );
}

function Choice({
  how,
  chosen,
  onChoose,
  label,
  children,
}: {
  readonly how: How;
  readonly chosen: How;
  readonly onChoose: (how: How) => void;
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

/** Copies the session, asks the copy, and opens it. If asking fails, the copy that is there is asked again. */
function useFork(sessionId: string, at: number) {
  const inspector = useInspector();
  const copies = useRef(new Map<number, string>());
  const [state, setState] = useState<{ readonly isSending: boolean; readonly problem: string | null }>({
    ...{ isSending: false, problem: null },
  });
  const close = () => inspector.dispatch({ type: "fork", place: null });
  const fork = async (input: Parameters<typeof askCopy>[2] | null) => {
    const copy = copies.current.get(at) ?? (await copySession(inspector.api, sessionId, at));
    copies.current.set(at, copy);
    if (input !== null) await askCopy(inspector.api, copy, input);
    inspector.navigate({ screen: "session", sessionId: copy, tab: "step" });
  };
  const send = (input: Parameters<typeof askCopy>[2] | null) => {
    if (state.isSending) return;
    setState({ isSending: true, problem: null });
    fork(input).catch((error: unknown) => setState({ isSending: false, problem: messageOf(error) }));
  };
  return { ...state, send, close };
}

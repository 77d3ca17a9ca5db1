/**
 * The buttons of a form: submit, other actions, and cancel.
 */
import type { ComponentChildren } from "preact";

export function FormButtons({
  label,
  keys,
  isDanger = false,
  isDisabled,
  onSend,
  onCancel,
  children,
}: {
  readonly label: string;
  /** The keys that submit the form, as labelled on the keyboard. */
  readonly keys: string;
  readonly isDanger?: boolean;
  readonly isDisabled: boolean;
  readonly onSend: () => void;
  readonly onCancel: () => void;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="buttons">
      <button type="button" class={isDanger ? "danger" : "primary"} disabled={isDisabled} onClick={onSend}>
        {label} <kbd>{keys}</kbd>
      </button>
      {children}
      <button type="button" class="quiet" onClick={onCancel}>
        Cancel <kbd>Esc</kbd>
      </button>
    </div>
  );
}

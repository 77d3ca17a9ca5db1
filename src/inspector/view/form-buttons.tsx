/**
 * The end of a form: a button that sends it, what else can be done with it, and a button that leaves it.
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
  /** The keys that send the form, as they are written on them. */
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

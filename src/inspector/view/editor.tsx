/**
 * An editor for an input, a result or a reply: a form if the schema allows one, otherwise JSON. The value is checked before it is
 * sent.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { WriteChoice } from "../state/decisions.js";
import {
  checkValue,
  type FieldValues,
  parseAndCheck,
  toFieldValues,
  toFormFields,
  toInput,
} from "../state/input-form.js";
import { FormButtons } from "./form-buttons.js";
import { FormField } from "./form-field.js";

export type EditorProps = {
  readonly choice: WriteChoice;
  readonly isSending: boolean;
  readonly onSend: (value: unknown) => void;
  readonly onCancel: () => void;
};

export function Editor({ choice, isSending, onSend, onCancel }: EditorProps) {
  const { schema, initialValue } = choice;
  const [base, setBase] = useState(initialValue);
  const fields = toFormFields(schema, base);
  const isText = schema === undefined && typeof initialValue === "string";
  const [isForm, setIsForm] = useState(fields !== null);
  const [values, setValues] = useState<FieldValues>(toFieldValues(fields ?? [], initialValue));
  const [text, setText] = useState(isText ? "" : JSON.stringify(initialValue ?? {}, null, 2));
  const box = useRef<HTMLDivElement>(null);
  // In a layout effect, so that it runs before the next key: otherwise the page would handle that key.
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), [isForm]);
  const result = isText
    ? ({ ok: true, value: text } as const)
    : isForm && fields !== null
      ? checkValue(toInput(fields, values, base), schema)
      : parseAndCheck(text, schema);
  const send = () => result.ok && onSend(result.value);
  const handleKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault();
      onCancel();
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
  };
  const toggleForm = () => {
    if (isForm && fields !== null) setText(JSON.stringify(toInput(fields, values, base), null, 2));
    else if (result.ok) {
      const nextFields = toFormFields(schema, result.value);
      if (nextFields === null) return;
      setBase(result.value);
      setValues(toFieldValues(nextFields, result.value));
    }
    setIsForm(!isForm);
  };
  return (
    <div class="editor" ref={box} onKeyDown={handleKeyDown}>
      {isForm && fields !== null ? (
        fields.map((field) => (
          <FormField
            key={field.name}
            field={field}
            value={values[field.name] ?? ""}
            onChange={(value) => setValues({ ...values, [field.name]: value })}
          />
        ))
      ) : (
        <label>
          {isText ? "The result" : "JSON"}
          <textarea
            class="mono"
            rows={Math.min(16, Math.max(4, text.split("\n").length + 1))}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
      )}
      {!result.ok && (
        <p class="warning" role="status">
          {result.problem}
        </p>
      )}
      <FormButtons
        label={choice.name === "edit" ? "Approve the edit" : choice.title}
        keys="Ctrl Enter"
        isDisabled={isSending || !result.ok}
        onSend={send}
        onCancel={onCancel}
      >
        {fields !== null && (
          <button type="button" class="quiet" onClick={toggleForm} disabled={!isForm && !result.ok}>
            {isForm ? "As JSON" : "As a form"}
          </button>
        )}
      </FormButtons>
    </div>
  );
}

/**
 * A field of a form: a control, a group of fields, or a list whose items can be added and taken out.
 */
import type { ComponentChildren } from "preact";
import { type Field, type Item, type PlainField, type Value, type Values, withNewItem } from "../state/input-form.js";

export type FormFieldProps<Of = Field> = {
  readonly field: Of;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
};

export function FormField({ field, value, onChange }: FormFieldProps) {
  switch (field.kind) {
    case "group":
      return <Group field={field} value={value} onChange={onChange} />;
    case "list":
      return <List field={field} value={value} onChange={onChange} />;
    default:
      return <Control field={field} value={value} onChange={onChange} />;
  }
}

type Of<Kind extends Field["kind"]> = Extract<Field, { readonly kind: Kind }>;

function Group({ field, value, onChange }: FormFieldProps<Of<"group">>) {
  const values = value as Values;
  return (
    <Nested field={field}>
      {field.fields.map((one) => (
        <FormField
          key={one.name}
          field={one}
          value={values[one.name] ?? ""}
          onChange={(changed) => onChange({ ...values, [one.name]: changed })}
        />
      ))}
    </Nested>
  );
}

function List({ field, value, onChange }: FormFieldProps<Of<"list">>) {
  const items = value as readonly Item[];
  return (
    <Nested field={field}>
      {items.map((item, index) => {
        const label = `${field.item.label} ${index + 1}`;
        return (
          <div class="list-item" key={item.id}>
            <FormField
              field={{ ...field.item, label }}
              value={item.value}
              onChange={(changed) => onChange(items.map((one) => (one === item ? { ...one, value: changed } : one)))}
            />
            <button
              type="button"
              class="quiet"
              aria-label={`Take out ${label}`}
              title="Take out"
              onClick={() => onChange(items.filter((one) => one !== item))}
            >
              ×
            </button>
          </div>
        );
      })}
      <button type="button" class="quiet add" onClick={() => onChange(withNewItem(field.item, items))}>
        + {field.item.label}
      </button>
    </Nested>
  );
}

function Nested({ field, children }: { readonly field: Field; readonly children: ComponentChildren }) {
  return (
    <fieldset class="nested">
      <legend>
        <Name field={field} />
      </legend>
      {children}
    </fieldset>
  );
}

function Name({ field: { label, isRequired, about } }: { readonly field: Field }) {
  return (
    <span class="field-name">
      {label}
      {!isRequired && <span class="dim"> optional</span>}
      {about !== null && <span class="dim about">{about}</span>}
    </span>
  );
}

function Control({ field, value, onChange }: FormFieldProps<PlainField>) {
  const { kind, isRequired, choices } = field;
  const text = typeof value === "string" ? value : "";
  const name = <Name field={field} />;
  if (kind === "flag")
    return (
      <label class="flag">
        <input type="checkbox" checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
        {name}
      </label>
    );
  if (kind === "choice")
    return (
      <label>
        {name}
        <select value={text} onChange={(event) => onChange(event.currentTarget.value)}>
          {(!isRequired || text === "") && <option value="">–</option>}
          {choices.map((choice) => (
            <option value={choice} key={choice}>
              {choice}
            </option>
          ))}
        </select>
      </label>
    );
  const input = (event: { readonly currentTarget: { readonly value: string } }) => onChange(event.currentTarget.value);
  return (
    <label>
      {name}
      {kind === "long" ? (
        <textarea
          class="mono"
          rows={Math.min(12, text.split("\n").length + 1)}
          value={text}
          onInput={input}
          spellcheck={false}
        />
      ) : (
        <input
          class="mono"
          type="text"
          inputMode={kind === "number" ? "decimal" : "text"}
          value={text}
          onInput={input}
        />
      )}
    </label>
  );
}

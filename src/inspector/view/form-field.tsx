/**
 * A field of a form: a control, a group of fields, or a list whose items can be added and removed.
 */
import type { ComponentChildren } from "preact";
import {
  addItem,
  type Field,
  type FieldValue,
  type FieldValues,
  type ListItem,
  type PlainField,
} from "../state/input-form.js";

export type FormFieldProps<FieldOf = Field> = {
  readonly field: FieldOf;
  readonly value: FieldValue;
  readonly onChange: (value: FieldValue) => void;
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

type FieldOf<Kind extends Field["kind"]> = Extract<Field, { readonly kind: Kind }>;

function Group({ field, value, onChange }: FormFieldProps<FieldOf<"group">>) {
  const values = value as FieldValues;
  return (
    <FieldGroup field={field}>
      {field.fields.map((one) => (
        <FormField
          key={one.name}
          field={one}
          value={values[one.name] ?? ""}
          onChange={(newValue) => onChange({ ...values, [one.name]: newValue })}
        />
      ))}
    </FieldGroup>
  );
}

function List({ field, value, onChange }: FormFieldProps<FieldOf<"list">>) {
  const items = value as readonly ListItem[];
  return (
    <FieldGroup field={field}>
      {items.map((item, index) => {
        const label = `${field.item.label} ${index + 1}`;
        return (
          <div class="list-item" key={item.id}>
            <FormField
              field={{ ...field.item, label }}
              value={item.value}
              onChange={(newValue) => onChange(items.map((one) => (one === item ? { ...one, value: newValue } : one)))}
            />
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${label}`}
              title="Take out"
              onClick={() => onChange(items.filter((one) => one !== item))}
            >
              ×
            </button>
          </div>
        );
      })}
      <button type="button" class="quiet add" onClick={() => onChange(addItem(field.item, items))}>
        + {field.item.label}
      </button>
    </FieldGroup>
  );
}

function FieldGroup({ field, children }: { readonly field: Field; readonly children: ComponentChildren }) {
  return (
    <fieldset class="nested">
      <legend>
        <FieldName field={field} />
      </legend>
      {children}
    </fieldset>
  );
}

function FieldName({ field: { label, isRequired, about } }: { readonly field: Field }) {
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
  const name = <FieldName field={field} />;
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
  const handleInput = (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange(event.currentTarget.value);
  return (
    <label>
      {name}
      {kind === "long" ? (
        <textarea
          class="mono"
          rows={Math.min(12, text.split("\n").length + 1)}
          value={text}
          onInput={handleInput}
          spellcheck={false}
        />
      ) : (
        <input
          class="mono"
          type="text"
          inputMode={kind === "number" ? "decimal" : "text"}
          value={text}
          onInput={handleInput}
        />
      )}
    </label>
  );
}

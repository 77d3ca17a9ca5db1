/**
 * A button that saves the shown log as a file, and reports its progress.
 */
import { useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import { saveLog } from "../save-log.js";
import { formatCount } from "../state/format.js";
import { useInspector } from "./hooks.js";

type Saving =
  | { readonly status: "none" }
  | { readonly status: "saving"; readonly count: number }
  | { readonly status: "failed"; readonly message: string };

export function SaveButton({ sessionId, type }: { readonly sessionId: string; readonly type: string | undefined }) {
  const { api } = useInspector();
  const [saving, setSaving] = useState<Saving>({ status: "none" });
  const save = async () => {
    setSaving({ status: "saving", count: 0 });
    try {
      await saveLog(api, sessionId, type, (count) => setSaving({ status: "saving", count }));
      setSaving({ status: "none" });
    } catch (error) {
      setSaving({ status: "failed", message: formatErrorMessage(error) });
    }
  };
  const isSaving = saving.status === "saving";
  return (
    <>
      <button
        type="button"
        class="quiet save"
        disabled={isSaving}
        title="Save the events as a file, one JSON object per line"
        onClick={() => void save()}
      >
        {isSaving ? `Saving ${formatCount(saving.count)}…` : "Save"}
      </button>
      {saving.status === "failed" && (
        <span class="warns" role="alert">
          {saving.message}
        </span>
      )}
    </>
  );
}

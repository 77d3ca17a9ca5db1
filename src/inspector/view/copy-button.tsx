/**
 * A button that copies text as JSON, and confirms it.
 */
import { useState } from "preact/hooks";

export function CopyButton({ text }: { readonly text: () => string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text()).then(() => setIsCopied(true));
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      {isCopied ? "Copied" : "Copy as JSON"}
    </button>
  );
}

import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.js";
import "./style.css";

/** The address names the chat, so a reload and a second tab show the same one. */
function App() {
  const [id, setId] = useState(chatInAddress);
  useEffect(() => {
    const onHash = () => setId(chatInAddress());
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  return <Chat key={id} id={id} onNew={() => location.assign(`#${crypto.randomUUID()}`)} />;
}

function chatInAddress(): string {
  if (location.hash.length < 2) history.replaceState(null, "", `#${crypto.randomUUID()}`);
  return location.hash.slice(1);
}

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(<App />);

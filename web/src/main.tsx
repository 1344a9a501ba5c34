import { render } from "preact";
import type { TraceInfo } from "./api";
import { ask } from "./api";
import { App } from "./app";
import { Explore } from "./explore";
import type { Report } from "./model";
import "./style.css";

/** The reports that the page carries: JSON, deflated, in base 64. */
async function unpack(text: string): Promise<Report[]> {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Its own reports, or, where `syndrome explore` serves it, what that answers. */
async function page() {
  const text = document.getElementById("reports")?.textContent ?? "";
  if (text !== "served") return <App reports={await unpack(text)} />;
  document.title = "Syndrome explore";
  return <Explore info={await ask<TraceInfo>("trace")} />;
}

const root = document.getElementById("app")!;
page().then(
  (shown) => {
    root.replaceChildren();
    render(shown, root);
  },
  (error: unknown) => {
    root.textContent = `This report cannot be shown: ${error}. It needs a browser of 2023 or later.`;
  },
);

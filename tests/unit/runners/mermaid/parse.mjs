// Reads a flowchart, and writes what Mermaid's own parser makes of it, as JSON.
import { JSDOM } from "jsdom";

const dom = new JSDOM("<!doctype html><body></body>");
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ startOnLoad: false });

let source = "";
for await (const chunk of process.stdin) source += chunk;
const { type, db } = await mermaid.mermaidAPI.getDiagramFromText(source);
// While it parses, Mermaid holds the entities of a text in another form.
const text = (held) => held.replaceAll("ﬂ°°", "&#").replaceAll("ﬂ°", "&").replaceAll("¶ß", ";");

console.log(
  JSON.stringify({
    type,
    nodes: [...db.getVertices().values()].map((node) => [node.id, text(node.text)]),
    edges: db.getEdges().map((e) => [e.start, e.end, text(e.text), e.stroke === "dotted"]),
    subgraphs: db.getSubGraphs().map((each) => [text(each.title), each.nodes]),
  }),
);

import type { ComponentChild, VNode } from "preact";

/** An element of the page, without its children. */
export interface SeenElement {
  type: string;
  props: Record<string, unknown>;
}

/** The elements and texts that Preact would create for a node, in the order of the document. */
export function drawn(node: ComponentChild): { elements: SeenElement[]; text: string } {
  const elements: SeenElement[] = [];
  let text = "";
  const visit = (one: unknown): void => {
    if (Array.isArray(one)) one.forEach(visit);
    else if (typeof one === "string" || typeof one === "number") text += one;
    else if (typeof one === "object" && one !== null) {
      const { type, props } = one as VNode<Record<string, unknown>>;
      if (typeof type === "string") elements.push({ type, props });
      // Code has a button of its own, which needs a document.
      if (typeof type === "function" && type.name === "CodeBlock") {
        elements.push({ type: "pre", props: { language: props.language } });
        visit(props.text);
      } else visit(props.children);
    }
  };
  visit(node);
  return { elements, text };
}

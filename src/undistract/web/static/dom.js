// Helpers that create elements. Strings become text nodes, so that data can never become markup.

export const find = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// An image. If the server does not have it, the figure is removed instead of showing a broken image.
export function picture(source, caption) {
  const image = make("img", { src: source, alt: caption });
  const figure = make("figure", {}, image, make("figcaption", {}, caption));
  image.addEventListener("error", () => figure.remove());
  return figure;
}

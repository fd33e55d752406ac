"use strict";
(() => {
  const form = document.getElementById("filters");
  const findings = [...document.querySelectorAll(".finding")];
  const files = [...document.querySelectorAll(".file")];
  const unfold = document.getElementById("unfold");
  if (!form || !findings.length) return;
  form.hidden = false;

  const texts = new Map();
  const textOf = (finding) => {
    if (!texts.has(finding)) {
      const path = finding.parentElement.querySelector("h3").textContent;
      texts.set(finding, `${path}\n${finding.textContent}`.toLowerCase());
    }
    return texts.get(finding);
  };

  const apply = () => {
    const words = form.elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const selects = [...form.querySelectorAll("select")].filter((select) => select.value);
    let shown = 0;
    for (const finding of findings) {
      const fits =
        selects.every((select) => (finding.dataset[select.name] ?? "") === select.value) &&
        words.every((word) => textOf(finding).includes(word));
      finding.hidden = !fits;
      shown += fits;
    }
    for (const file of files) file.hidden = !file.querySelector(".finding:not([hidden])");
    document.getElementById("nothing").hidden = shown > 0;
    document.getElementById("shown").value = `${shown} of ${findings.length}`;
    const chosen = [...new FormData(form)].filter(([, value]) => value);
    // The address keeps what is chosen, to be passed on.
    if (chosen.length || location.hash.includes("=")) {
      history.replaceState(null, "", chosen.length ? `#${new URLSearchParams(chosen)}` : location.pathname);
    }
  };

  const label = () => {
    unfold.textContent = findings.every((finding) => finding.open) ? "Fold all" : "Unfold all";
  };
  unfold.addEventListener("click", () => {
    const open = !findings.every((finding) => finding.open);
    for (const finding of findings) finding.open = open;
  });
  for (const finding of findings) finding.addEventListener("toggle", label);

  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const link of document.querySelectorAll("[data-filter]")) {
    link.addEventListener("click", (event) => {
      const select = form.elements[link.dataset.filter];
      if (!select) return;
      event.preventDefault();
      for (const field of form.elements) field.value = "";
      select.value = link.dataset.value;
      apply();
      document.getElementById("findings").scrollIntoView();
    });
  }

  const follow = () => {
    if (location.hash.includes("=")) {
      for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
        if (form.elements[name]) form.elements[name].value = value;
      }
      apply();
      return;
    }
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.matches(".finding")) {
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => {
    for (const finding of findings) finding.open = true;
  });
  // First what the address asks for, since applying writes it anew.
  follow();
  apply();
  label();
})();

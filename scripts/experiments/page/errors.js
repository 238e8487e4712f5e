"use strict";
// An error anywhere in the page is written where a reader, and the test, sees it.
window.addEventListener("error", (event) => {
  document.documentElement.dataset.error = event.message;
  const said = document.createElement("p");
  said.className = "error";
  said.textContent = `This page has an error: ${event.message}`;
  document.body.prepend(said);
});

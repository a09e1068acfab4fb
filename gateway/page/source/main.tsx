// One document for both addresses: the list of tasks, and the page of one.

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { TaskPage } from "./task";
import { TasksPage } from "./tasks";

const within = location.pathname.slice(new URL(document.baseURI).pathname.length - 1);
const id = /^\/tasks\/([^/]+)\/?$/.exec(within)?.[1];
render(id ? <TaskPage id={decodeURIComponent(id)} /> : <TasksPage />, document.getElementById("page")!);

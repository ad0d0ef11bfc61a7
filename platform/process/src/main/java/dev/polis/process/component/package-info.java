/** Wires the process manager into the framework. */
package dev.polis.process.component;

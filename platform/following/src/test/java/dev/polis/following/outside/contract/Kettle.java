package dev.polis.following.outside.contract;

import java.util.function.Supplier;

/** A contract that bundles from outside bring; it answers with the version of its provider. */
public interface Kettle extends Supplier<String> {}

package dev.polis.ctl.session;

import dev.polis.ctl.CommandTree;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Lists the subcommands of a command. Picocli's own attribute for it would make picocli read all of
 * them whenever it reads the command; see {@link CommandTree}.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface Subcommands {
  /** Classes with a {@code @Command} that names them. */
  Class<?>[] value();
}

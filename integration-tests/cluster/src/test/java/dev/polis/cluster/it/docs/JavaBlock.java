package dev.polis.cluster.it.docs;

import dev.polis.fixtures.Distribution;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Compiles the Java of a page against the classes that a bundle may use: the platform and its
 * annotations.
 */
final class JavaBlock {

  private static final Pattern TYPE =
      Pattern.compile("public (?:final )?(?:class|record|interface) (\\w+)");

  private JavaBlock() {}

  static void compile(Block block, Path work) throws IOException {
    String source = String.join("\n", block.lines());
    Matcher type = TYPE.matcher(source);
    if (!type.find()) {
      throw new AssertionError(block.place() + " declares no public type");
    }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
    Path classes = Files.createDirectories(work.resolve("classes-" + block.line()));
    boolean compiled =
        compiler
            .getTask(
                null,
                null,
                found,
                List.of("-proc:none", "-d", classes.toString(), "-cp", classPath()),
                null,
                List.of(new Source(type.group(1), source)))
            .call();
    if (!compiled) {
      throw new AssertionError(block.place() + " does not compile: " + found.getDiagnostics());
    }
  }

  /** Returns the shipped platform, and the annotations, which are needed only at build time. */
  private static String classPath() throws IOException {
    try (Stream<Path> jars = Files.list(Distribution.built().folder().resolve("lib"))) {
      return Stream.concat(
              jars.map(Path::toString), Stream.of(System.getProperty("java.class.path")))
          .collect(Collectors.joining(":"));
    }
  }

  private static final class Source extends SimpleJavaFileObject {

    private final String content;

    Source(String name, String content) {
      super(URI.create("string:///" + name + ".java"), Kind.SOURCE);
      this.content = content;
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return content;
    }
  }
}

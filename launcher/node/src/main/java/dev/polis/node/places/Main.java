package dev.polis.node.places;

import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Rewrites the jars of this project in the folders that it is given; a step of the build. */
public final class Main {
  /** Jars of libraries log nothing into a journal. */
  private static final String OURS = "dev.polis.";

  private Main() {}

  /**
   * Rewrites, and prints how many classes were changed.
   *
   * @param folders of jars; together they hold all types that the code names
   * @throws IOException if a jar can not be read or replaced
   */
  public static void main(String[] folders) throws IOException {
    List<Path> jars = new ArrayList<>();
    for (String folder : folders) {
      try (Stream<Path> files = Files.list(Path.of(folder))) {
        files.filter(file -> file.toString().endsWith(".jar")).sorted().forEach(jars::add);
      }
    }
    int classes = 0;
    try (URLClassLoader types = new URLClassLoader(urls(jars))) {
      JarRewriter rewriter = new JarRewriter(new ClassRewriter(types));
      for (Path jar : jars) {
        if (jar.getFileName().toString().startsWith(OURS)) {
          classes += rewriter.rewrite(jar);
        }
      }
    }
    System.out.println("places of log entries put into " + classes + " classes");
  }

  private static URL[] urls(List<Path> jars) throws MalformedURLException {
    URL[] urls = new URL[jars.size()];
    for (int i = 0; i < urls.length; i++) {
      urls[i] = jars.get(i).toUri().toURL();
    }
    return urls;
  }
}

package dev.polis.scripts.it;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;

/** Makes a source of Debian packages in a folder, the only one that apt has in a test. */
final class PackageSource {

  private final ScriptFolder scripts;
  private final Path folder;
  private String index = "";

  /** Makes an empty source that apt trusts. */
  PackageSource(ScriptFolder scripts) throws Exception {
    assumeTrue(
        scripts.finish(List.of("dpkg-deb", "--version")).code() == 0
            && scripts.finish(List.of("apt-get", "--version")).code() == 0,
        "packages are fetched with apt-get and dpkg, which this machine lacks");
    this.scripts = scripts;
    this.folder = Files.createDirectories(scripts.path("source"));
    writeIndex();
    trust("[trusted=yes]");
  }

  /** Makes a package from a folder. */
  void add(String content, String name, String needs) throws Exception {
    String control =
        """
        Package: %s
        Version: 1
        Architecture: all
        Maintainer: nobody
        Description: of a test
        """
            .formatted(name);
    if (!needs.isEmpty()) {
      control += "Depends: " + needs + "\n";
    }
    Path described = Files.createDirectories(scripts.path(content).resolve("DEBIAN"));
    Files.writeString(described.resolve("control"), control);
    Path file = folder.resolve(name + ".deb");
    scripts
        .finish(List.of("dpkg-deb", "--build", scripts.path(content).toString(), file.toString()))
        .requireSuccess("dpkg-deb");
    index +=
        control
            + "Filename: ./%s\nSize: %d\nSHA256: %s\n\n"
                .formatted(file.getFileName(), Files.size(file), digest(Files.readAllBytes(file)));
    writeIndex();
  }

  /** Removes the index: from now on nothing can be fetched. */
  void lose() throws IOException {
    Files.delete(folder.resolve("Packages"));
  }

  /** Lets apt require a signature, which the source lacks. */
  void distrust() throws IOException {
    trust("");
  }

  private void writeIndex() throws Exception {
    Files.writeString(folder.resolve("Packages"), index);
    Files.writeString(
        folder.resolve("Release"),
        "SHA256:\n %s %d Packages\n".formatted(digest(index.getBytes(UTF_8)), index.length()));
  }

  private void trust(String how) throws IOException {
    Files.writeString(scripts.path("sources.list"), "deb %s file:%s ./%n".formatted(how, folder));
    Files.writeString(
        scripts.path("apt.conf"),
        """
        Dir::Etc::sourcelist "%s";
        Dir::Etc::sourceparts "/dev/null";
        """
            .formatted(scripts.path("sources.list")));
  }

  private static String digest(byte[] content) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
  }
}

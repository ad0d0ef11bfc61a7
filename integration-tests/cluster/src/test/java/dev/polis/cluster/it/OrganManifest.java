package dev.polis.cluster.it;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * Reads an organ's needs and offers from its built bundle: references, services and ports from the
 * component descriptions, files and listeners from the bytecode.
 *
 * @param needs simple names of services without which it does not start
 * @param uses simple names of services that it uses while they are available
 * @param provides simple names of its services
 * @param configuration PIDs of its configuration
 * @param files paths of the state directory that its code names
 * @param ports its own ports with their defaults, and the platform's listeners it serves on
 */
record OrganManifest(
    Set<String> needs,
    Set<String> uses,
    Set<String> provides,
    Set<String> configuration,
    Set<String> files,
    Set<String> ports) {

  private static final String LISTENER_PROPERTY = "polis.rpc.listener";
  private static final Set<String> LISTENERS = Set.of("curator", "management", "debug");

  /** Matches a port of the organ's own; other organs only pass on the curator's. */
  private static final Pattern PORT = Pattern.compile("(?!curator).*port");

  private static final String REGISTER = "registerService";
  private static final String LAYOUT = "dev/polis/files/layout/Root";
  private static final String FOLDER = "dev/polis/files/OrganFolder";

  /** The parent of the folders that organs declare. */
  private static final String VOLUME = "data/";

  /**
   * Reads a bundle.
   *
   * @param layout the path of each file that the layout of the state directory declares, by class
   *     and method, {@code dev/polis/files/layout/Root$Esp.parameters}
   */
  static OrganManifest read(Path jar, Map<String, String> layout) throws IOException {
    OrganManifest found =
        new OrganManifest(
            new TreeSet<>(),
            new TreeSet<>(),
            new TreeSet<>(),
            new TreeSet<>(),
            new TreeSet<>(),
            new TreeSet<>());
    try (JarFile bundle = new JarFile(jar.toFile())) {
      for (JarEntry entry : bundle.stream().toList()) {
        String name = entry.getName();
        try (InputStream content = bundle.getInputStream(entry)) {
          if (name.startsWith("OSGI-INF/dev.polis.") && name.endsWith(".xml")) {
            found.component(content);
          } else if (name.endsWith(".class")) {
            found.bytecode(content.readAllBytes(), layout);
          }
        }
      }
    } catch (ParserConfigurationException | SAXException e) {
      throw new IOException(jar + " has a component description that cannot be read", e);
    }
    found.uses.removeAll(found.needs);
    return found;
  }

  private void component(InputStream description)
      throws IOException, ParserConfigurationException, SAXException {
    Element component =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(description)
            .getDocumentElement();
    for (Element reference : elements(component, "reference")) {
      boolean optional = reference.getAttribute("cardinality").startsWith("0");
      (optional ? uses : needs).add(simple(reference.getAttribute("interface")));
    }
    elements(component, "provide")
        .forEach(each -> provides.add(simple(each.getAttribute("interface"))));
    if (component.hasAttribute("configuration-pid")) {
      configuration.addAll(List.of(component.getAttribute("configuration-pid").split(" ")));
    }
    for (Element property : elements(component, "property")) {
      String name = property.getAttribute("name");
      if (PORT.matcher(name).matches() && !property.getAttribute("value").equals("0")) {
        ports.add(property.getAttribute("value"));
      }
    }
  }

  private static List<Element> elements(Element parent, String name) {
    NodeList nodes = parent.getElementsByTagName(name);
    List<Element> elements = new ArrayList<>();
    for (int at = 0; at < nodes.getLength(); at++) {
      elements.add((Element) nodes.item(at));
    }
    return elements;
  }

  private static String simple(String type) {
    return type.substring(type.lastIndexOf('.') + 1);
  }

  private void bytecode(byte[] classFile, Map<String, String> layout) {
    Set<Object> constants = new TreeSet<>((a, b) -> a.toString().compareTo(b.toString()));
    // The property is put with a listener beside it, or with a parameter: then each one counts.
    Set<Object> named = new TreeSet<>();
    for (MethodModel method : ClassFile.of().parse(classFile).methods()) {
      String lastClass = "";
      String lastText = "";
      for (CodeElement element : method.code().map(code -> code.elementList()).orElse(List.of())) {
        switch (element) {
          case ConstantInstruction.LoadConstantInstruction loaded -> {
            constants.add(loaded.constantValue());
            if (loaded.constantValue() instanceof String text) {
              if (lastText.equals(LISTENER_PROPERTY)) {
                named.add(text);
              }
              lastText = text;
            }
            if (loaded.constantEntry() instanceof ClassEntry type) {
              lastClass = type.asInternalName();
            }
          }
          case InvokeInstruction call when declaresFolder(call) -> files.add(VOLUME + lastText);
          case InvokeInstruction call -> invoked(call, lastClass, layout);
          default -> {}
        }
      }
    }
    if (constants.contains(LISTENER_PROPERTY)) {
      (named.isEmpty() ? constants : named)
          .stream().map(Object::toString).filter(LISTENERS::contains).forEach(ports::add);
    }
  }

  private static boolean declaresFolder(InvokeInstruction call) {
    return call.owner().asInternalName().equals(FOLDER)
        && call.name().stringValue().equals("<init>");
  }

  private void invoked(InvokeInstruction call, String lastClass, Map<String, String> layout) {
    String owner = call.owner().asInternalName();
    String method = call.name().stringValue();
    if (method.equals(REGISTER) && !lastClass.isEmpty()) {
      provides.add(simple(lastClass.replace('/', '.')));
    }
    if (owner.startsWith(LAYOUT)) {
      String path = layout.get(owner + "." + method);
      if (path != null) {
        files.add(path);
      }
    }
  }

  /** Returns the row of an organ in the table of the architecture. */
  String row(String organ) {
    return "| `%s` | %s | %s | %s | %s | %s | %s |"
        .formatted(
            organ,
            cell(needs),
            cell(uses),
            cell(provides),
            cell(configuration),
            cell(files),
            cell(ports));
  }

  private static String cell(Collection<String> names) {
    return names.isEmpty() ? "–" : String.join(" ", names);
  }

  /** Returns the same lines of an organ's essay, without the comment's asterisks. */
  List<String> essay() {
    return List.of(
        item("Needs", needs),
        item("Uses if there", uses),
        item("Provides", provides),
        item("Configuration", configuration),
        item("Files", files),
        item("Ports", ports));
  }

  private static String item(String title, Collection<String> names) {
    return "<li>%s: %s".formatted(title, names.isEmpty() ? "none" : String.join(", ", names));
  }
}

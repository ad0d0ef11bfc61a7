package dev.polis.plugins.metatype;

import dev.polis.base.config.DidYouMean;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;

/** Knows each key of each PID in the metatype files of bundles. Immutable. */
public final class ConfigurationKeys {
  private static final String FOLDER = "OSGI-INF/metatype/";

  private final SortedMap<String, SortedMap<String, ConfigurationKey>> byPid = new TreeMap<>();

  private ConfigurationKeys() {}

  /**
   * Reads the metatype files of bundles.
   *
   * @param jars the bundles
   * @return their keys, by PID
   * @throws IOException if a bundle or its metatype file is unreadable
   */
  public static ConfigurationKeys read(Collection<Path> jars) throws IOException {
    ConfigurationKeys keys = new ConfigurationKeys();
    for (Path jar : jars) {
      try (JarFile file = new JarFile(jar.toFile(), false)) {
        for (JarEntry entry : metatypes(file)) {
          try (InputStream in = file.getInputStream(entry)) {
            keys.add(in);
          } catch (XMLStreamException e) {
            throw new IOException(
                jar + ": " + entry.getName() + " is no metatype file: " + e.getMessage(), e);
          }
        }
      }
    }
    return keys;
  }

  /**
   * Returns all PIDs, in order.
   *
   * @return the PIDs
   */
  public Collection<String> pids() {
    return Collections.unmodifiableCollection(byPid.keySet());
  }

  /**
   * Returns the keys of a PID, in order.
   *
   * @param pid the PID
   * @return its keys; empty for an unknown PID
   */
  public Collection<ConfigurationKey> of(String pid) {
    return byPid.getOrDefault(pid, Collections.emptySortedMap()).values();
  }

  /**
   * Converts a value from text.
   *
   * @param pid the PID
   * @param key the key
   * @param text the value from a person's input
   * @return the value in the key's type
   * @throws UnfitSettingException if there is no such PID or key, with the closest known one, or if
   *     the value does not fit
   */
  public Object value(String pid, String key, String text) throws UnfitSettingException {
    SortedMap<String, ConfigurationKey> keys = byPid.get(pid);
    if (keys == null) {
      throw new UnfitSettingException(
          "nothing is configured by \"" + pid + "\"" + DidYouMean.among(pid, byPid.keySet()));
    }
    ConfigurationKey found = keys.get(key);
    if (found == null) {
      throw new UnfitSettingException(
          pid + " has no key \"" + key + "\"" + DidYouMean.among(key, keys.keySet()));
    }
    try {
      return found.value(text);
    } catch (IllegalArgumentException e) {
      throw new UnfitSettingException(pid + "." + key + ": " + e.getMessage(), e);
    }
  }

  /**
   * Finds the end of the PID in a name, since the PID and the key may contain dots: an existing PID
   * decides, or else the last dot.
   *
   * @param name {@code PID.key}, with at least one dot
   * @return its two parts
   * @throws UnfitSettingException if it has no dot
   */
  public Split split(String name) throws UnfitSettingException {
    for (String pid : pids()) {
      if (name.startsWith(pid + ".")) {
        return new Split(pid, name.substring(pid.length() + 1));
      }
    }
    int dot = name.lastIndexOf('.');
    if (dot < 0) {
      throw new UnfitSettingException(
          "\"" + name + "\" names no key: write PID.key, as dev.polis.curator.port");
    }
    return new Split(name.substring(0, dot), name.substring(dot + 1));
  }

  /**
   * Is the name of a key in its two parts.
   *
   * @param pid the PID
   * @param key the key
   */
  public record Split(String pid, String key) {}

  private static List<JarEntry> metatypes(JarFile file) {
    try (Stream<JarEntry> entries = file.stream()) {
      return entries
          .filter(entry -> entry.getName().startsWith(FOLDER) && entry.getName().endsWith(".xml"))
          .toList();
    }
  }

  private void add(InputStream in) throws XMLStreamException {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    XMLStreamReader reader = factory.createXMLStreamReader(in);
    Map<String, SortedMap<String, ConfigurationKey>> classes = new HashMap<>();
    SortedMap<String, ConfigurationKey> current = new TreeMap<>();
    String pid = "";
    while (reader.hasNext()) {
      if (reader.next() != XMLStreamConstants.START_ELEMENT) {
        continue;
      }
      switch (reader.getLocalName()) {
        case "OCD" -> {
          current = new TreeMap<>();
          classes.put(reader.getAttributeValue(null, "id"), current);
        }
        case "AD" -> {
          ConfigurationKey key = key(reader);
          current.put(key.id(), key);
        }
        case "Designate" -> pid = reader.getAttributeValue(null, "pid");
        case "Object" ->
            byPid
                .computeIfAbsent(pid, p -> new TreeMap<>())
                .putAll(
                    classes.getOrDefault(
                        reader.getAttributeValue(null, "ocdref"), new TreeMap<>()));
        default -> {
          // Icons and options do not concern keys.
        }
      }
    }
  }

  private static ConfigurationKey key(XMLStreamReader reader) {
    String cardinality = reader.getAttributeValue(null, "cardinality");
    String description = reader.getAttributeValue(null, "description");
    String fallback = reader.getAttributeValue(null, "default");
    return new ConfigurationKey(
        reader.getAttributeValue(null, "id"),
        reader.getAttributeValue(null, "type"),
        cardinality != null && !cardinality.equals("0"),
        number(reader.getAttributeValue(null, "min"), Long.MIN_VALUE),
        number(reader.getAttributeValue(null, "max"), Long.MAX_VALUE),
        fallback == null ? "" : fallback,
        description == null ? "" : description);
  }

  private static long number(String text, long none) {
    return text != null && text.matches("-?[0-9]{1,18}") ? Long.parseLong(text) : none;
  }
}

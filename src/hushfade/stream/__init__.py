"""The live mechanism: streams, the ownership of their steps, and their saved states.

stream            Stream: closes steps, saves and loads its state
engine            noise, memory and compiled loops for a range of a plan's lanes
partition         a range of lanes as a function, for engines such as Spark
ownership         makes sure that a process takes each step once
saved_state       states and traces as bytes
container         the binary container of everything that is saved
"""
